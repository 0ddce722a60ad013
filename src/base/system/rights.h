/*
 * The rights that this process has beyond its user's: the capabilities that its file was given
 * (setcap(8)). They serve one purpose, to look into the kernel and into processes, and the user who
 * runs us must get no other use of them. So no capability is in effect except between
 * af_rights_raise() and af_rights_restore(), and capabilities that bypass the permissions of files
 * are given up at once. Root's own rights are left alone.
 */
#ifndef AF_BASE_SYSTEM_RIGHTS_H
#define AF_BASE_SYSTEM_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/capability.h>

#ifndef CAP_PERFMON /* since Linux 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE /* since Linux 5.9 */
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define AF_RIGHT(cap) (UINT64_C(1) << (cap))

/* BPF programs and events of the kernel; before Linux 5.8 and 5.11 these needed the other two. */
#define AF_RIGHTS_KERNEL                                                                           \
	(AF_RIGHT(CAP_BPF) | AF_RIGHT(CAP_PERFMON) | AF_RIGHT(CAP_SYS_ADMIN) |                     \
	 AF_RIGHT(CAP_SYS_RESOURCE))
/* /proc/PID of other users' processes, and map_files in it. */
#define AF_RIGHTS_PROCESS (AF_RIGHT(CAP_SYS_PTRACE) | AF_RIGHT(CAP_CHECKPOINT_RESTORE))
/* Addresses in /proc/kallsyms. */
#define AF_RIGHTS_NAMES AF_RIGHT(CAP_SYSLOG)

/*
 * Call it first in main: no capability is in effect afterwards, and a set-user-ID program runs as
 * its real user.
 */
void af_rights_begin(void);

/*
 * The user who called sudo(8), by SUDO_UID and SUDO_GID. False when we are not root, when there is
 * none, or when that user is root too.
 */
bool af_sudo_user(uid_t *uid, gid_t *gid);

/* Gives up all capabilities, for good. */
void af_rights_drop(void);

/* The part of @rights that this process has, in effect or to be raised. */
uint64_t af_rights_have(uint64_t rights);

/*
 * Puts the part of @rights that this process has into effect, in this thread. Returns the value for
 * af_rights_restore().
 */
uint64_t af_rights_raise(uint64_t rights);
void af_rights_restore(uint64_t before);

/* scope_rights(AF_RIGHTS_NAMES) holds until the end of the block. */
static inline void af_rights_scope_end(const uint64_t *before)
{
	af_rights_restore(*before);
}
#define scope_rights(rights)                                                                       \
	__attribute__((cleanup(af_rights_scope_end), unused)) uint64_t rights_before_ =            \
	    af_rights_raise(rights)

#endif
