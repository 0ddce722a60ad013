#include "collect/stage/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/write.h"
#include "collect/stage/move.h"
#include "trace/read/staged.h"

#define STAGE_LEAST_BYTES (16u << 20)

/* A small file, there as a whole and for good, or not at all. */
static int note_make(int dir_fd, const char *name, const char *text)
{
	scope_close int fd = af_create_private(dir_fd, name);
	int rc = fd < 0 ? fd : af_write_all(fd, text, strlen(text));

	if (!rc && fsync(fd))
		rc = -errno;
	if (rc)
		unlinkat(dir_fd, name, 0);
	return rc;
}

int af_stage_stub(int target_fd, const char *stage)
{
	char boot[AF_BOOT_ID_SIZE], host[128] = "", text[2048];

	af_boot_id(boot);
	gethostname(host, sizeof host - 1);
	snprintf(text, sizeof text, "%s\n%s\n%s\n", *host ? host : "localhost", *boot ? boot : "?",
	         stage);
	return note_make(target_fd, AF_STAGED_FILE, text);
}

/* A disk that is as good as full would cost events that the place has room for. */
static int room_check(const char *in, struct af_err *err)
{
	struct statvfs v;

	if (statvfs(in, &v))
		return af_fail(err, -errno, "cannot use --stage %s", in);
	unsigned long long room = (unsigned long long)v.f_bavail * v.f_frsize;
	if (room >= STAGE_LEAST_BYTES)
		return 0;
	return af_fail_plain(err, -ENOSPC, "--stage %s has room for %llu kB only", in, room / 1000);
}

static int stage_make(struct af_place *stage, const char *in, struct af_err *err)
{
	char name[NAME_MAX + 1], path[PATH_MAX + NAME_MAX + 2], full[PATH_MAX];
	int rc = af_unique_name(name, AF_STAGE_NAME);

	if (rc < 0)
		return af_fail(err, rc, "cannot choose a name in --stage %s", in);
	if (!realpath(in, full))
		return af_fail(err, -errno, "cannot use --stage %s", in);
	snprintf(path, sizeof path, "%s/%s", full, name);
	if (strlen(path) >= sizeof stage->dir)
		return af_fail_plain(err, -ENAMETOOLONG, "the name --stage %s is too long", in);
	rc = room_check(full, err);
	rc = rc ? rc : af_place_make_at(stage, path, AF_ROOM_REFUSE, err);
	if (rc)
		return rc;
	/* A gather waits until we have ended. */
	if (!flock(stage->dir_fd, LOCK_EX | LOCK_NB))
		return 0;
	rc = af_fail(err, -errno, "cannot lock %s", path);
	af_place_unmake(stage);
	af_place_leave(stage);
	return rc;
}

int af_stage_begin(struct af_stage *s, struct af_place *p, const char *in, struct af_err *err)
{
	struct af_place stage = {.dir_fd = -1};
	char text[sizeof p->dir + 2];
	int rc = stage_make(&stage, in, err);

	if (rc)
		return rc;
	snprintf(text, sizeof text, "%s\n", p->dir);
	rc = note_make(stage.dir_fd, AF_STAGING_FILE, text);
	if (!rc)
		rc = af_stage_stub(p->dir_fd, stage.dir);
	if (rc) {
		af_place_unmake(&stage);
		af_place_leave(&stage);
		return af_fail(err, rc, "cannot record into --stage %s", in);
	}
	s->target = *p;
	*p = stage;
	return 0;
}

int af_stage_end(struct af_stage *s, struct af_place *p, uint64_t *bytes, struct af_err *err)
{
	int rc = af_stage_move(p->dir_fd, s->target.dir_fd, s->target.dir, bytes, err);

	if (rc)
		return rc;
	af_place_unmake(p);
	af_place_leave(p);
	*p = s->target;
	s->target = (struct af_place){.dir_fd = -1, .in_fd = -1, .job_in_fd = -1};
	return 0;
}

void af_stage_unmake(struct af_stage *s)
{
	if (s->target.dir_fd >= 0)
		af_place_unmake(&s->target);
}

void af_stage_leave(struct af_stage *s)
{
	if (s->target.dir_fd >= 0)
		af_place_leave(&s->target);
}
