/* The parts of a server: the trace, the reports that are made of it, and who asks for them. */
#ifndef AF_CMD_SERVE_PRIVATE_H
#define AF_CMD_SERVE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "cmd/output/progress.h"
#include "serve/gate.h"
#include "serve/request.h"
#include "trace/read/overview.h"

struct af_err;

enum {
	SERVE_PART_BYTES = 4 << 20,   /* of a large trace, to be shown within a moment */
	SERVE_SMALL_BYTES = 16 << 20, /* a trace of which all is shown at once */
	SERVE_JOBS = 6,               /* reports that are kept or being made */
	SERVE_CONNECTIONS = 64,
	SERVE_ID = 64,
};

/* served.c: the trace */

enum serve_now {
	SERVE_READY,
	SERVE_LIVE, /* it is still being recorded */
	SERVE_GONE, /* there is none, or none that can be opened */
};

struct served {
	const char *dir;
	enum serve_now now;
	char id[SERVE_ID];           /* of this recording; another one of that name has another */
	struct af_overview overview; /* while it is ready */
	bool small;                  /* all of it is shown at once */
	struct af_near_memo *memo;   /* for parts of this recording, or NULL */
	char why[512];               /* it is gone */
};

/* The id of the recording that the trace @dir is now; "" for none. */
void served_identify(const char *dir, char id[SERVE_ID]);

/* Look at the trace again. True: it is another one now, or another state. */
bool served_look(struct served *s);

/* job.c: reports, each made by a child */

struct job_range {
	uint64_t from_ns, to_ns; /* since the trace began; to 0: all of the trace */
};

enum job_state { JOB_NONE, JOB_RUNS, JOB_DONE, JOB_FAILED };

/* Memory in which a child reports to the server. */
struct job_shared {
	struct af_progress_shared progress;
	_Atomic int rc;
	char why[512]; /* complete before rc is not 0 */
};

struct job {
	enum job_state state;
	struct job_range range;
	pid_t pid;
	int fd; /* the report, in memory */
	struct job_shared *shared;
	uint64_t used; /* larger: later */
	char why[512];
};

struct jobs {
	struct job all[SERVE_JOBS];
	uint64_t used;
	uint64_t memory; /* most bytes of a child's own */
	const char *sources;
};

/* Where the report of that range is made; NULL when it is not. */
struct job *job_find(struct jobs *jobs, struct job_range range);

/*
 * The same; makes it unless that has begun. NULL: as many as may be are being made. @served_json is
 * for the page.
 */
struct job *job_start(struct jobs *jobs, const struct served *s, struct job_range range,
                      const char *served_json);

/* Children have ended: note how. */
void jobs_reap(struct jobs *jobs);

/* Forget one that does not run. */
void job_forget(struct job *job);

/* End all children and forget all reports. */
void jobs_clear(struct jobs *jobs);

/* "reading the trace: 34 %", of a job that runs. */
void job_progress(const struct job *job, char *text, size_t size, unsigned *percent);

/* page.c: texts */

/* JSON that goes with a report of @range: viewer/serve.js reads it. */
void page_served(struct af_buf *b, const struct served *s, struct job_range range);

/* JSON on what is the case now, for a page that is open and was made of the recording @id. */
void page_state(struct af_buf *b, const struct served *s, const char *id, const struct job *whole);

/* A page of one sentence or two, which loads @link after @seconds unless that is NULL. */
void page_sentence(struct af_buf *b, const char *title, const char *text, const char *link,
                   unsigned seconds);

/* answer.c: requests */

struct server {
	struct af_gate gate;
	struct served served;
	struct jobs jobs;
	unsigned port;
};

struct answer {
	struct af_buf bytes;      /* head and, unless it is a report, body */
	const struct job *report; /* else the body, or NULL */
	bool wait;                /* there is none yet: ask again when a child has ended */
};

/*
 * Answer @r. Where @patient, a report that is being made is waited for. The caller frees the bytes.
 */
void answer_request(struct server *s, const struct af_request *r, bool patient, struct answer *a);

/* Begin with the report that the link leads to: somebody is about to ask for it. */
void answer_prepare(struct server *s);

/* Answer what was no request. */
void answer_status(int status, struct answer *a);

/* connections.c */

/* Serve on the listening socket @listener until SIGINT or SIGTERM: 0, or -errno with a message. */
int connections_serve(struct server *s, int listener, struct af_err *err);

#endif
