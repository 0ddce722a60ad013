/*
 * /proc/self/maps (proc(5)), read a line at a time with plain system calls and no memory but the
 * reader itself. Fit for a signal handler, where stdio is not.
 */
#ifndef AF_INJECT_WALK_MAPS_H
#define AF_INJECT_WALK_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_maps {
	int fd;
	unsigned at, len;
	bool ended;
	char buf[1024];
};

struct af_maps_entry {
	uint64_t start, end, offset, inode;
	uint64_t device; /* major << 32 | minor: an inode's number is of one device */
	bool executable;
};

/* 0 or -errno. Nothing is held after a failure. */
int af_maps_open(struct af_maps *maps);
void af_maps_close(struct af_maps *maps);

/*
 * The next mapping; false at the end. If the mapping holds @wanted, its name is copied to @name,
 * cut to @size; other names are skipped.
 */
bool af_maps_next(struct af_maps *maps, struct af_maps_entry *entry, uint64_t wanted, char *name,
                  size_t size);

#endif
