#include "collect/telemetry/claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hash.h"
#include "collect/disk/job.h"

/*
 * The claim is an abstract socket with the job's name: the kernel gives a name to one socket at a
 * time, and takes it back when its owner ends, however that was. Where there can be no socket the
 * counters are rather read twice than not at all.
 */
bool telemetry_claim_take(struct telemetry_claim *c, const struct af_job_rank *job)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	c->held = true;
	c->fd = -1;
	if (!job || !job->is_rank)
		return true;
	c->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return true;
	/* Other users' jobs may have the same number. */
	int len =
	    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "aflame-telemetry-%u-%016llx",
	             (unsigned)getuid(), (unsigned long long)af_hash(job->key, strlen(job->key)));
	const socklen_t size =
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
	c->held = !bind(c->fd, (const struct sockaddr *)&name, size) || errno != EADDRINUSE;
	if (!c->held)
		telemetry_claim_drop(c);
	return c->held;
}

void telemetry_claim_drop(struct telemetry_claim *c)
{
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct telemetry_claim){.fd = -1};
}
