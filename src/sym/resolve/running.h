/*
 * Processes of a trace that still run while names are looked up. Through /proc (proc(5)) we see
 * their files as they do, also files that were deleted or that lie in another mount namespace.
 * Processes are found by their id in their own PID namespace, which is the id in a trace.
 *
 *	af_running_open → { af_running_find → … }* → af_running_close
 */
#ifndef AF_SYM_RESOLVE_RUNNING_H
#define AF_SYM_RESOLVE_RUNNING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct af_running {
	char *proc; /* "/proc" */
	struct af_running_process {
		pid_t pid;         /* in our namespace */
		pid_t own_pid;     /* in its own namespace */
		uid_t uid;         /* effective */
		uint64_t start_ns; /* CLOCK_BOOTTIME */
		bool elsewhere;    /* its root directory is not ours */
	} * processes;
	uint32_t nr, cap;
};

/* Read the list of running processes. @proc is where the file system is mounted. */
void af_running_open(struct af_running *l, const char *proc);
void af_running_close(struct af_running *l);

/*
 * The process with @own_pid that was there at @seen_ns (CLOCK_BOOTTIME) and runs @exe (NULL: any);
 * NULL when there is none, or more than one that it could be.
 */
const struct af_running_process *af_running_find(const struct af_running *l, pid_t own_pid,
                                                 uint64_t seen_ns, const char *exe);

/*
 * Open a file for reading: a descriptor of the caller's, or -errno. _mapped: the file mapped at
 * @address, even if it was deleted (needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN); _exe: the
 * executable; both only when that is or was @path (NULL: any). _path: the file at the absolute
 * @path as the process sees it, not itself a symbolic link, never outside of its root.
 */
int af_running_open_mapped(const struct af_running *l, const struct af_running_process *p,
                           uint64_t address, const char *path);
int af_running_open_exe(const struct af_running *l, const struct af_running_process *p,
                        const char *path);
int af_running_open_path(const struct af_running *l, const struct af_running_process *p,
                         const char *path);

/*
 * Path, in the process's eyes, of its next mapped file called jit-<pid>.dump, malloc'd; NULL when
 * there are no more than @nth.
 */
char *af_running_jitdump(const struct af_running *l, const struct af_running_process *p,
                         uint32_t nth);

#endif
