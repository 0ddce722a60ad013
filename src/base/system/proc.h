/*
 * What the kernel tells in small files, and which Linux it is. Nothing here allocates, and the
 * first descriptor that is free is in use for a moment only: it also runs in recorded programs.
 */
#ifndef AF_BASE_SYSTEM_PROC_H
#define AF_BASE_SYSTEM_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Up to @size - 1 bytes of the file @path as one read(2) gives them, with a NUL behind: what one
 * call returns of a file in /proc belongs together. Returns how many; 0 when it cannot be read.
 */
size_t af_read_text(const char *path, char *text, size_t size);

/* The same of /proc/@pid/@name; @pid 0: of this process. */
size_t af_proc_read(int pid, const char *name, char *text, size_t size);

/* /proc/@pid/maps; NULL and errno: it cannot be read. */
FILE *af_proc_open_maps(unsigned pid);

/* The name of the file that @pid runs, without a NUL; how many bytes, 0: that is not to be seen. */
size_t af_proc_read_exe(unsigned pid, char *path, size_t size);

enum { AF_BOOT_ID_SIZE = 64 };

/* What tells this start of this machine from all others; "" where the kernel does not say. */
void af_boot_id(char id[AF_BOOT_ID_SIZE]);

/* Is a debugger, or another that uses ptrace(2), attached to it (TracerPid: proc(5))? */
bool af_proc_is_traced(int pid);

/* The same by @status, the text of /proc/PID/status. */
bool af_status_is_traced(const char *status);

/* Does uname(2) say that this is Linux @major.@minor or later? */
bool af_linux_is_at_least(unsigned major, unsigned minor);

#endif
