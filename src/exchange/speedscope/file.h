/*
 * Speedscope's format (speedscope.app, file-format-schema.json) as it stands in the file: frames,
 * and one profile after the other. Members of an object come in any order, so frames are read
 * first, and numbers stay text until the unit of their profile is known.
 *
 *	speedscope_open → speedscope_read → speedscope_close
 */
#ifndef AF_EXCHANGE_SPEEDSCOPE_FILE_H
#define AF_EXCHANGE_SPEEDSCOPE_FILE_H

#include "exchange/builder/builder.h"
#include "exchange/source/json.h"

/* A number as it stands in the file. */
struct speedscope_number {
	const char *text;
	uint32_t len; /* 0: it is not there */
};

struct speedscope_sample {
	uint64_t first; /* of frames, the root's first */
	uint32_t nr;
};

struct speedscope_event {
	char type; /* 'O' or 'C' */
	uint32_t frame;
	struct speedscope_number at;
};

struct speedscope_profile {
	bool sampled, evented;
	uint32_t name;
	char unit[32];
	struct speedscope_number start, end;
	uint32_t *frames; /* indexes in the file's */
	struct speedscope_sample *samples;
	struct speedscope_number *weights;
	struct speedscope_event *events;
	uint64_t nr_frames, cap_frames, nr_samples, cap_samples, nr_weights, cap_weights;
	uint64_t nr_events, cap_events;
};

struct speedscope_file {
	struct af_builder *builder;
	const uint8_t *data;
	size_t size, at;
	struct af_json json;
	struct af_builder_frame_of *frames;
	uint32_t nr_frames, cap_frames;
	uint32_t name;
	char exporter[64];
	struct speedscope_profile profile; /* the one that is being read */
	void (*take)(void *arg, struct speedscope_file *f, const struct speedscope_profile *p);
	void *arg;
};

/* @data outlives the file. */
void speedscope_open(struct speedscope_file *f, struct af_builder *d, const uint8_t *data,
                     size_t size);
void speedscope_close(struct speedscope_file *f);

/*
 * Give each profile to @take. False: an error, which f->json describes, or it is not such a file.
 */
bool speedscope_read(struct speedscope_file *f,
                     void (*take)(void *arg, struct speedscope_file *f,
                                  const struct speedscope_profile *p),
                     void *arg);

#endif
