/*
 * What this process may more than its user: the capabilities that its file was given (setcap(8)).
 * They belong to one purpose, to look into the kernel and into processes, and whoever runs us must
 * have no other use of them. So nothing is in effect but between af_rights_raise() and
 * af_rights_restore(); capabilities that pass by the permissions of files are given up at once.
 * Root's are root's own, and are left alone.
 */
#ifndef AF_BASE_SYSTEM_RIGHTS_H
#define AF_BASE_SYSTEM_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/capability.h>

#ifndef CAP_PERFMON /* since Linux 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE /* since Linux 5.9 */
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define AF_RIGHT(cap) (UINT64_C(1) << (cap))

/* BPF programs and events of the kernel; before 5.8 and 5.11 that took the others. */
#define AF_RIGHTS_KERNEL                                                                           \
	(AF_RIGHT(CAP_BPF) | AF_RIGHT(CAP_PERFMON) | AF_RIGHT(CAP_SYS_ADMIN) |                     \
	 AF_RIGHT(CAP_SYS_RESOURCE))
/* /proc/PID of processes of others, and in it map_files. */
#define AF_RIGHTS_PROCESS (AF_RIGHT(CAP_SYS_PTRACE) | AF_RIGHT(CAP_CHECKPOINT_RESTORE))
/* Addresses in /proc/kallsyms. */
#define AF_RIGHTS_NAMES AF_RIGHT(CAP_SYSLOG)

/* First of all in main: nothing is in effect; a set-user-id program is its real user's. */
void af_rights_begin(void);

/* Gives up all, for good. */
void af_rights_drop(void);

/* Those of @rights that there are, in effect or to be raised. */
uint64_t af_rights_have(uint64_t rights);

/* Puts those of @rights that there are into effect, in this thread. What to restore. */
uint64_t af_rights_raise(uint64_t rights);
void af_rights_restore(uint64_t before);

/* scope_rights(AF_RIGHTS_NAMES); until the end of the block. */
static inline void af_rights_scope_end(const uint64_t *before)
{
	af_rights_restore(*before);
}
#define scope_rights(rights)                                                                       \
	__attribute__((cleanup(af_rights_scope_end), unused)) uint64_t rights_before_ =            \
	    af_rights_raise(rights)

#endif
