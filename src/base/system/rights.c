#include "base/system/rights.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALL (AF_RIGHTS_KERNEL | AF_RIGHTS_PROCESS | AF_RIGHTS_NAMES)

struct sets {
	uint64_t effective, permitted, inheritable;
};

/* There are some, and not because we are root. Never in a program that is recorded. */
static bool held;

static bool sets_get(struct sets *s)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &head, data))
		return false;
	*s = (struct sets){
	    .effective = data[0].effective | (uint64_t)data[1].effective << 32,
	    .permitted = data[0].permitted | (uint64_t)data[1].permitted << 32,
	    .inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32,
	};
	return true;
}

static void sets_put(const struct sets *s)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++)
		data[i] = (struct __user_cap_data_struct){
		    .effective = (uint32_t)(s->effective >> 32 * i),
		    .permitted = (uint32_t)(s->permitted >> 32 * i),
		    .inheritable = (uint32_t)(s->inheritable >> 32 * i),
		};
	syscall(SYS_capset, &head, data);
}

/* Inherited privileges belong to the program that we start: it gets them as without us. */
void af_rights_begin(void)
{
	struct sets s;

	if ((getgid() != getegid() && setresgid(getgid(), getgid(), getgid())) ||
	    (getuid() != geteuid() && setresuid(getuid(), getuid(), getuid())))
		_exit(1);
	if (!getuid() || !sets_get(&s) || !s.permitted)
		return;
	held = true;
	s.permitted &= ALL | s.inheritable;
	s.effective = 0;
	sets_put(&s);
}

void af_rights_drop(void)
{
	if (held)
		sets_put(&(struct sets){0});
	held = false;
}

uint64_t af_rights_have(uint64_t rights)
{
	struct sets s;

	return sets_get(&s) ? s.permitted & rights : 0;
}

static uint64_t effective_put(uint64_t (*change)(uint64_t now, uint64_t by), uint64_t by)
{
	struct sets s;

	if (!held || !sets_get(&s))
		return 0;
	uint64_t before = s.effective;
	s.effective = change(before, by) & s.permitted;
	if (s.effective != before)
		sets_put(&s);
	return before;
}

static uint64_t both(uint64_t now, uint64_t by)
{
	return now | by;
}

static uint64_t other(uint64_t now, uint64_t by)
{
	(void)now;
	return by;
}

uint64_t af_rights_raise(uint64_t rights)
{
	return effective_put(both, rights & ALL);
}

void af_rights_restore(uint64_t before)
{
	effective_put(other, before);
}

/* A whole number, of no more than an id has. */
static bool id_of(const char *name, unsigned long *id)
{
	const char *text = getenv(name);
	char *end;

	errno = 0;
	*id = text ? strtoul(text, &end, 10) : 0;
	return text && *text >= '0' && *text <= '9' && !*end && !errno && *id < UINT32_MAX;
}

bool af_sudo_user(uid_t *uid, gid_t *gid)
{
	unsigned long user, group;

	if (geteuid() || !id_of("SUDO_UID", &user) || !id_of("SUDO_GID", &group) || !user)
		return false;
	*uid = (uid_t)user;
	*gid = (gid_t)group;
	return true;
}
