/* The trace that is served: which recording it is, and what can be known of it at once. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/scope.h"
#include "cmd/serve/private.h"
#include "collect/disk/place.h"
#include "trace/metadata.h"
#include "trace/read/files.h"
#include "trace/read/near.h"
#include "trace/read/reader.h"

/* A directory and its metadata are made anew by each recording, and then stay as they are. */
void served_identify(const char *path, char id[SERVE_ID])
{
	struct stat dir = {0}, metadata = {0};
	scope_close int fd = af_trace_dir_open(path);

	id[0] = 0;
	if (fd < 0)
		return;
	fstat(fd, &dir);
	fstatat(fd, AF_METADATA_FILE, &metadata, AT_SYMLINK_NOFOLLOW);
	snprintf(id, SERVE_ID, "%llx-%llx-%llx.%lx", (unsigned long long)dir.st_ino,
	         (unsigned long long)metadata.st_ino, (unsigned long long)metadata.st_mtim.tv_sec,
	         (unsigned long)metadata.st_mtim.tv_nsec);
}

/* Open it as a reader does, for its message where it cannot: that reads an event of each stream. */
static int try_open(const char *dir, struct af_err *err)
{
	struct af_trace *t;
	int rc = af_trace_open(&t, dir, 0, err);

	if (!rc)
		af_trace_close(t);
	return rc;
}

static void served_read(struct served *s)
{
	struct af_err err = {0};
	int rc = try_open(s->dir, &err);

	rc = rc ? rc : af_overview_read(&s->overview, s->dir, &err);
	if (rc) {
		s->now = SERVE_GONE;
		snprintf(s->why, sizeof s->why, "%s", err.msg);
	} else
		s->memo = af_near_memo_make(s->overview.bytes, s->overview.nr_streams);
	s->small = s->overview.bytes <= SERVE_SMALL_BYTES || !s->overview.span_ns;
}

bool served_look(struct served *s)
{
	char id[SERVE_ID];
	enum serve_now now = SERVE_READY;
	scope_close int fd = af_trace_dir_open(s->dir);

	served_identify(s->dir, id);
	if (fd >= 0 && af_place_is_recorded(fd))
		now = SERVE_LIVE;
	/* One that could not be opened may be whole by now. */
	if (!strcmp(id, s->id) && now == s->now)
		return false;
	bool was_gone = s->now == SERVE_GONE && !strcmp(id, s->id);
	memcpy(s->id, id, sizeof id);
	s->now = now;
	s->why[0] = 0;
	af_near_memo_free(s->memo);
	s->memo = NULL;
	if (now == SERVE_READY)
		served_read(s);
	return !was_gone || s->now != SERVE_GONE;
}
