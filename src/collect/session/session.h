/*
 * One recording, the recorder's side. Calls in order:
 *
 *	af_session_open()      makes the trace directory, the shared directory, the control page
 *	                       and the control socket
 *	af_target_run()        starts the program, and moves its packets to disk until it ends
 *	af_session_finish()    moves the last packets; then the trace reads alone, but for names
 *	af_session_settle()    removes the shared directory, and marks the trace as unnamed
 *	{ the caller adds names: collect/disk/unnamed.h }
 *	af_session_close()
 *
 * If the recorder is killed before the trace is settled, af_recover() completes it; after that any
 * command adds the names.
 */
#ifndef AF_COLLECT_SESSION_SESSION_H
#define AF_COLLECT_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/system/used.h"
#include "collect/disk/drain.h"
#include "collect/disk/heart.h"
#include "collect/disk/place.h"
#include "collect/disk/segments.h"
#include "collect/jit/watch.h"
#include "collect/session/bounds.h"
#include "collect/session/client_poll.h"
#include "collect/session/clients.h"
#include "collect/session/ctl.h"
#include "collect/session/debugger.h"
#include "collect/session/devices.h"
#include "collect/session/filtered.h"
#include "collect/session/live.h"
#include "collect/session/snapshot.h"
#include "collect/session/watcher.h"
#include "collect/stage/stage.h"
#include "trace/write/session.h"
#include "trace/write/stream.h"

struct af_err;

struct af_session_options {
	const char *output; /* the trace to make: af_place_asked */
	const struct af_job_rank *job;
	const char
	    *stage; /* record into a directory here, and move the trace at the end; or NULL */
	bool force; /* replace what is there instead of keeping it as .old */
	/*
	 * After a SIGTERM to the recorder the recording ends so much later, even if the program has
	 * not ended: a job's launcher kills both soon. 0: it goes on to the program's end.
	 */
	uint64_t grace_ns;
	uint32_t flags; /* enum af_session_flag */
	enum af_cpu_mode cpu_mode;
	uint64_t sample_period_ns;
	uint64_t samples_most;       /* CPU samples that are kept, 0: all */
	uint32_t stack_depth;        /* frames that are kept of each, 0: as many as can be */
	uint64_t gpu_samples_second; /* with AF_SESSION_GPU_SAMPLES */
	/*
	 * The metric group of Level Zero that is read over each @…_every-th launch of a kernel, or
	 * ""; and "", or why there is none of it.
	 */
	char launch_metrics[AF_LAUNCH_METRICS], launch_metrics_why[700];
	uint32_t launch_metrics_every;
	uint32_t launches_every;    /* one launch in so many has its stack; 0: all have */
	uint32_t cuda_buffer_bytes; /* whole pages; 0: as is best */
	uint64_t delay_ns;          /* recording is off for so long at the start */
	uint64_t duration_ns;       /* 0: until the program ends */
	struct af_steps_wanted steps;
	uint64_t max_bytes; /* recording stops when the trace is so large; 0: no limit */
	/* Only the newest events are kept, in so many bytes; 0: all are */
	uint64_t ring_bytes;
	const char *ctl; /* path of the FIFO, or NULL */
	/* Symbolize the snapshot @dir_fd; called in a process of its own. */
	int (*finish_copy)(int dir_fd, const char *dir, struct af_err *err);
	/* Prints a line for the user while recording; or NULL */
	void (*tell)(const char *line);
	/*
	 * Traced APIs: AF_API_KINDS bytes for control.how[], and the metadata of their functions;
	 * NULL where none is traced.
	 */
	const uint8_t *how;
	const char *metadata;
	bool system_clock; /* calls are timed by it alone, never by the processor's counter */
	/*
	 * Switches functions of traced APIs, "on PATTERN" or "off PATTERN": answers in @text, and
	 * false when it makes no sense; or NULL.
	 */
	bool (*switch_calls)(struct af_recording *r, const char *words, char *text, size_t size);
	const char *library;     /* path of libaflame.so */
	const char *mpi_library; /* … of libaflame-mpi.so, or NULL: MPI's calls are not recorded */
	const char *hip_library;  /* … of libaflame-hip.so, or NULL: HIP's calls are not */
	const char *ze_library;   /* … of libaflame-ze.so, or NULL: its calls have no arguments */
	const char *wall_library; /* … of libaflame-wall.so, or NULL: no AF_SESSION_WALL */
	const char *alloc_library; /* … of libaflame-alloc.so, or NULL: allocations are not */
	/* With AF_SESSION_PROBES, what they are, and the functions, whose probes come first. */
	const struct af_probe *probes;
	const struct af_watch_function *probed;
	uint32_t nr_probes, nr_probed;
	char functions_less[1100]; /* which are left out or without times, and why; "": none */
	const struct af_watcher_ops *watcher; /* samples from outside, or NULL */
	struct af_watch_options watch;
	const struct af_devices_ops *devices[AF_DEVICES_MOST]; /* from the first on, else NULL */
	uint64_t device_samples_second; /* with these, of each device; 0: the driver's default */
	uint64_t heartbeat_ns;          /* how often counters of devices are read; 0: as usual */
	bool observe;                   /* … and by streams that only one program can have */
	const struct af_telemetry_wanted *telemetry; /* counters to be read over time, or NULL */
	const char *metric_group;                    /* of Level Zero, to be streamed, or NULL */
	uint64_t metric_ns;                          /* its period; 0: as usual */
};

struct af_probed_call;

struct af_recording {
	struct af_place place;
	struct af_stage stage;
	char shm[64];
	int lock_fd;
	struct af_heart heart;
	struct af_session *control;
	struct af_session own;    /* our copy of control */
	uint32_t meddled;         /* how often control differed from it */
	uint64_t ticks, ticks_ns; /* the processor's counter when last looked at; 0: not yet */
	bool no_ticks;            /* there is none to be trusted */
	struct af_drain drain;
	struct af_segments segments; /* with ring_bytes */
	struct af_clients clients;
	void *watching;                  /* state of @options->watcher, NULL: there is none */
	void *sampling[AF_DEVICES_MOST]; /* … of @options->devices */
	uint32_t nr_counters;            /* that these have numbered in the trace */
	struct af_bounds bounds;
	struct af_steps_state steps;
	struct af_ctl ctl;
	struct af_snapshots snapshots;
	struct af_live live;
	struct af_client_polling client_poll;
	struct af_jit_watch jit;
	uint32_t nr_polls;       /* rounds of looking, once a second */
	struct af_stream stream; /* the recorder's own */
	const struct af_session_options *options;
	/* For the program; the recorder itself wants EFBIG instead of the signal */
	void (*old_sigxfsz)(int);
	int child;              /* 0: the recorder did not start the recorded processes */
	bool asked_to_end;      /* without a child: by Ctrl-C or the like */
	uint32_t child_process; /* ordinal of the last image that the child ran, as far as known */
	int status;             /* wait status of the child */
	struct af_hurry hurry;
	uint32_t still_running; /* processes of the program that outlived it */
	uint64_t start_ns, end_ns;
	struct af_used_machine machine; /* when recording began */
	uint64_t recorder_cpu_ns;
	uint64_t trace_bytes;
};

/*
 * Make the trace directory, the shared directory, the control page and the control socket. @options
 * outlives @r. -errno with a message: nothing is left behind.
 */
int af_session_open(struct af_recording *r, const struct af_session_options *options,
                    struct af_err *err);

/* Report which functions of --uprobe were not called: a NOTE for each, and a line for each file. */
void af_session_uncalled(struct af_recording *r, const struct af_probed_call *all, uint32_t nr);

/* Write a NOTE into the recorder's stream. */
void af_session_note(struct af_recording *r, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Write USAGE: of @process, of one of its threads (0: of all), or of its children. */
void af_usage_write(struct af_recording *r, uint32_t process, uint32_t tid, uint32_t whose,
                    uint32_t source, struct af_used used);

/* Write a CLOCK pair into it. */
void af_session_anchor(struct af_recording *r);

/* Write again the sums of LOST events that were dropped for newer ones. */
void af_session_lost_again(struct af_recording *r);

/* Returns -ENOSPC and the like when parts of the trace could not be written. */
int af_session_finish(struct af_recording *r, struct af_err *err);

/*
 * Where is the trace? -ENOENT: its directory was removed; -ESTALE: it was renamed, and
 * @r->place.dir is its name now. Both with a message.
 */
int af_session_find(struct af_recording *r, struct af_err *err);

/*
 * After af_session_finish(): release the watcher, the control socket and the lock, and remove the
 * shared directory. The session's file becomes AF_UNNAMED_FILE; -errno when it cannot be renamed,
 * where a quota is reached: it stays, then. @r->control is NULL from now on.
 */
int af_session_settle(struct af_recording *r);

/*
 * Move a staged trace, which is settled, to its place, which @r->place is from now on. On failure
 * it stays in the staging directory, and the message tells how to move it later. A trace that is
 * not staged stays where it is.
 */
int af_session_unstage(struct af_recording *r, struct af_err *err);

/* End the recording. */
void af_session_close(struct af_recording *r);

/* Undo af_session_open: nothing was recorded. */
void af_session_abandon(struct af_recording *r);

#endif
