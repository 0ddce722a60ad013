/*
 * Libraries of device APIs (CUDA's driver, the loaders of Level Zero and OpenCL), and where in each
 * file the functions lie that are probed. A file is read once, and known by its device and inode.
 *
 * Level Zero and OpenCL are probed at their loaders: the drivers' own exports are not called, since
 * loaders take functions from tables that drivers fill.
 */
#ifndef AF_COLLECT_BPF_LIBRARY_H
#define AF_COLLECT_BPF_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct af_bpf;

enum { BPF_API_CUDA, BPF_API_LEVEL_ZERO, BPF_API_OPENCL, BPF_APIS };

/* Flags of a session in which calls of APIs are seen. */
#define BPF_SESSION_APIS (AF_SESSION_CUDA | AF_SESSION_ZE | AF_SESSION_OPENCL)

struct bpf_api {
	const char *file;     /* how the name of its library begins */
	uint32_t flag;        /* of the session: it is recorded */
	const char *note_key; /* of what is known of it */
};

extern const struct bpf_api bpf_apis[BPF_APIS];

/* The API that the library at @path has, or -1. */
int bpf_api_of(const char *path);

/* Is @path a file whose name begins with @file, up to a version? */
bool bpf_is_file(const char *path, const char *file);

/* A function of an API. Those of CUDA have the ids that libaflame gives them too; 0 is none. */
struct bpf_function {
	const char *name;
	uint32_t category; /* enum af_call_category */
	uint32_t api;      /* enum af_api */
};

extern const struct bpf_function bpf_functions[];
extern const uint32_t bpf_nr_cuda_functions;

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
