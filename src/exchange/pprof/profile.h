/*
 * pprof's profile.proto as tables. Samples may refer to later entries, so a file is read twice,
 * first for the tables. (github.com/google/pprof, proto/profile.proto)
 */
#ifndef AF_EXCHANGE_PPROF_PROFILE_H
#define AF_EXCHANGE_PPROF_PROFILE_H

#include "base/map.h"
#include "base/protobuf.h"
#include "exchange/builder/builder.h"
#include "exchange/text/weights.h"
#include "render/profiles/pprof_fields.h"

struct pprof_string {
	const uint8_t *at;
	size_t len;
	uint32_t name; /* of the builder + 1, once it was used */
};

struct pprof_function {
	uint64_t name, system_name, file;
};

struct pprof_location {
	uint64_t mapping, address;
	uint32_t first, nr; /* of lines, from the innermost out */
	uint32_t frames;    /* + 1: first of frames, once it was used; from the outermost in */
};

struct pprof_line {
	uint64_t function;
	int64_t line;
};

struct pprof_profile {
	struct af_builder *builder;
	struct pprof_string *strings;
	struct pprof_function *functions;
	struct pprof_location *locations;
	struct pprof_line *lines;
	uint64_t *mappings; /* strings that are their files */
	struct af_builder_frame_of *frames;
	uint32_t nr_strings, cap_strings, nr_functions, cap_functions, nr_locations, cap_locations;
	uint32_t nr_lines, cap_lines, nr_mappings, cap_mappings, nr_frames, cap_frames;
	struct af_map by_function, by_location, by_mapping; /* id → index */
	struct import_value_type types[IMPORT_VALUE_TYPES];
	uint32_t nr_types; /* also those that are too many */
	uint64_t type_texts[2 * IMPORT_VALUE_TYPES];
	uint64_t period_texts[2], default_type, comment;
	int64_t period, time_ns, duration_ns;
};

/* Free what @p holds. A zeroed struct is fine. */
void pprof_free(struct pprof_profile *p);

/* Read all but the samples. False: bytes that cannot be; what came before is there. */
bool pprof_read(struct pprof_profile *p, struct af_cursor in);

/* A string of the table; "" when it has no such string, which is counted. Not NUL-terminated. */
struct pprof_string *pprof_string(struct pprof_profile *p, uint64_t index);
/* The same as a name of the builder, and as a C string that the builder owns. */
uint32_t pprof_name(struct pprof_profile *p, uint64_t index);
const char *pprof_text(struct pprof_profile *p, uint64_t index);

/*
 * The frames of a location, from the outermost in. Returns their number, 0 when there is no such
 * location.
 */
uint32_t pprof_frames(struct pprof_profile *p, uint64_t id,
                      const struct af_builder_frame_of **frames);

#endif
