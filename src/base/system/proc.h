/*
 * Small files of the kernel's in /proc, and the version of Linux. Nothing here allocates, and the
 * lowest free descriptor is in use for a moment only, because this also runs in recorded programs.
 */
#ifndef AF_BASE_SYSTEM_PROC_H
#define AF_BASE_SYSTEM_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reads up to @size - 1 bytes of the file @path by one read(2), and adds a NUL: the bytes that one
 * call returns of a file in /proc are consistent. Returns their number, 0 when the file cannot be
 * read.
 */
size_t af_read_text(const char *path, char *text, size_t size);

/* The same for /proc/@pid/@name; @pid 0: this process. */
size_t af_proc_read(int pid, const char *name, char *text, size_t size);

/* Opens /proc/@pid/maps; NULL and errno when it cannot be read. */
FILE *af_proc_open_maps(unsigned pid);

/* A line of it: proc(5), "/proc/pid/maps". */
struct af_proc_mapping {
	uint64_t start, end, offset, inode; /* inode 0: no file is behind it */
	uint32_t major, minor;
	bool executable;
	bool shared; /* writes reach others that map it */
	char *path;  /* in the line, "" for none */
};

/*
 * The next line of @maps (NULL: there is none) that can be read, in *@line, of *@cap bytes, as
 * getline(3) has them: NULL and 0 at first, and the caller frees it. False at the end.
 */
bool af_proc_mapping_next(FILE *maps, char **line, size_t *cap, struct af_proc_mapping *m);

/*
 * The name of the file that @pid runs, without a NUL. Returns the number of bytes, 0 when this
 * process may not see it.
 */
size_t af_proc_read_exe(unsigned pid, char *path, size_t size);

enum { AF_BOOT_ID_SIZE = 64 };

/*
 * The id of this boot of this machine, different from all others; "" when the kernel does not tell
 * it.
 */
void af_boot_id(char id[AF_BOOT_ID_SIZE]);

/*
 * How far CLOCK_MONOTONIC of this process is before the kernel's own: the offset of its time
 * namespace (time_namespaces(7)), 0 in the initial one. Times that the kernel writes (of perf
 * events and BPF programs) lack it. Found once.
 */
int64_t af_time_namespace_ns(void);

/* A number that is the same for all processes of a time namespace; 0: not known. */
uint64_t af_time_namespace(void);

/* af_time_namespace_ns() as it is now, for a process that may be another since then: after fork. */
int64_t af_time_namespace_now_ns(void);

/* Is a debugger, or another user of ptrace(2), attached to the process (TracerPid: proc(5))? */
bool af_proc_is_traced(int pid);

/* The same, from the text of /proc/PID/status in @status. */
bool af_status_is_traced(const char *status);

/*
 * Also from that text: is the process's first thread in a wait that nothing interrupts, such as for
 * a disk?
 */
bool af_status_waits_for_disk(const char *status);

/*
 * Also from that text, of a thread: does it block the signal of samples @signo, and not because
 * libaflame's handler runs in it (handler_mask.h)?
 */
bool af_status_blocks(const char *status, int signo);

/* Does uname(2) say that this is Linux @major.@minor or later? */
bool af_linux_is_at_least(unsigned major, unsigned minor);

#endif
