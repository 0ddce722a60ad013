/*
 * Files of libcuda, and where in each the functions lie that are probed. A file is read once, and
 * known by its device and inode.
 */
#ifndef AF_COLLECT_BPF_LIBRARY_H
#define AF_COLLECT_BPF_LIBRARY_H

#include <stdint.h>
#include <sys/types.h>

struct af_bpf;

/* A function of the driver's API, at the id that libaflame gives it too; 0 is none. */
struct bpf_function {
	const char *name;
	uint32_t category; /* enum af_call_category */
};

extern const struct bpf_function bpf_functions[];
extern const uint32_t bpf_nr_functions;

/* Where to probe: an offset in the file. */
struct bpf_site {
	uint64_t offset;
	uint32_t function;
};

struct bpf_library {
	dev_t dev;
	ino_t ino;
	struct bpf_site *sites; /* by offset */
	uint32_t nr;
	struct bpf_library *next;
};

/* The library that @fd is a file of, which @b keeps; NULL when it cannot be read. */
struct bpf_library *bpf_library_of(struct af_bpf *b, int fd);
void bpf_libraries_free(struct af_bpf *b);

/* The function that is probed at @offset of the file; 0: none. */
uint32_t bpf_library_function(const struct bpf_library *l, uint64_t offset);

#endif
