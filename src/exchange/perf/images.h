/*
 * The processes of a perf.data, followed in order of time: the program of a pid at a moment (the
 * pid may exec, or be reused), its threads' names, and its mappings. Processes with samples become
 * processes of the builder.
 *
 *	{ perf_images_comm, _fork, _map, _process }* in order of time → perf_images_free
 */
#ifndef AF_EXCHANGE_PERF_IMAGES_H
#define AF_EXCHANGE_PERF_IMAGES_H

#include "base/keys.h"
#include "exchange/perf/record.h"

struct af_builder;

struct perf_mapping {
	uint64_t start, end, offset;
	uint32_t path, epoch; /* path: of the builder's names */
	uint32_t build_id;    /* index + 1 in build_ids, 0: none */
};

struct perf_image {
	uint32_t pid;
	uint32_t from; /* index + 1 of the image that forked it */
	uint32_t exe;  /* of the builder's names: the first file mapped */
	uint32_t epoch;
	uint32_t process; /* of the builder, UINT32_MAX: none yet */
	struct perf_mapping *maps;
	uint32_t nr_maps, cap_maps, nr_written;
};

struct perf_images {
	struct af_builder *builder;
	uint32_t space;
	struct perf_image *all;
	uint32_t nr, cap;
	struct af_map by_pid;  /* → index + 1 */
	struct af_map comms;   /* pid and tid → name */
	struct af_map by_path; /* path of a file → index + 1 in build_ids */
	/* (path, offset, build-id) → the number to subtract from a mapping's start for its bias. */
	struct af_keys biases;
	struct perf_build_id *build_ids;
	uint32_t nr_build_ids, cap_build_ids;
	struct af_map ksymbols; /* start → noted already */
	uint64_t kernel_text;   /* address of kernel_symbol, 0: not known */
	uint32_t kernel_symbol;
	uint32_t kernel_id; /* as build_id above */
};

/* @d outlives @im. The build ids of @f are copied. */
void perf_images_open(struct perf_images *im, struct af_builder *d, uint32_t space,
                      const struct perf_file *f);
void perf_images_free(struct perf_images *im);

/*
 * A thread's name, and an exec where c->exec is set; a fork, whose child has the mappings of its
 * parent; a mapping. Call them in order of time. Texts are copied.
 */
void perf_images_comm(struct perf_images *im, const struct perf_comm *c);
void perf_images_fork(struct perf_images *im, uint32_t pid, uint32_t from, uint32_t tid,
                      uint32_t from_tid);
void perf_images_map(struct perf_images *im, const struct perf_mmap *m);

/* Note its name, for symbolizing, unless it contains blanks. */
void perf_images_ksymbol(struct perf_images *im, const struct perf_ksymbol *k);

/* The process of the builder that @pid is at this time; *@epoch is that of its mappings. */
uint32_t perf_images_process(struct perf_images *im, uint32_t pid, uint32_t *epoch);

/* The image of @pid at this time; it and its mappings are valid until the next record. */
const struct perf_image *perf_images_image(struct perf_images *im, uint32_t pid);

/* The mapping at @pc, NULL for none. */
const struct perf_mapping *perf_images_mapping(const struct perf_image *image, uint64_t pc);

/* The difference between an address of @m and the address in its file. */
uint64_t perf_images_bias(struct perf_images *im, const struct perf_mapping *m);

struct af_found;
/* Find the file that was mapped; false: it is not here. */
bool perf_images_file(const struct perf_images *im, const struct perf_mapping *m,
                      struct af_found *found);

/* The name of a thread, 0 when not known. */
uint32_t perf_images_thread(const struct perf_images *im, uint32_t pid, uint32_t tid);

#endif
