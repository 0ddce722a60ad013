/*
 * Names of OpenMP's target regions. A target knows only the place of a construct in a file, and
 * calls its kernel `target region app+0x11a3`; the symbols of a trace, which stand at its end, have
 * the function and line.
 *
 *	struct af_region_names r = {.trace = trace};    the trace outlives it
 *	if (af_region_name(&r, process, kernel, text, sizeof text)) …
 *	af_region_names_free(&r);
 */
#ifndef AF_ANALYSE_NAMES_REGIONS_H
#define AF_ANALYSE_NAMES_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"

struct af_trace;

/* All but @trace is private, and zeroed. */
struct af_region_names {
	const struct af_trace *trace; /* NULL: nothing is known */
	bool read;
	struct af_strtab texts;
	struct af_map strings;            /* id in the stream of symbols → id in texts */
	struct af_keys by_place;          /* process and offset → the last symbol that has them */
	struct af_region_symbol *symbols; /* from 1 */
	uint32_t nr_symbols, cap_symbols;
};

/*
 * The name for people of @kernel of @process, if it is that of a target region whose place has a
 * symbol: "scale:12 target region", and without the line "scale target region app+0x11a3". The
 * first such name reads the trace's symbols. One thread at a time.
 */
bool af_region_name(struct af_region_names *r, uint32_t process, const char *kernel, char *text,
                    size_t size);

/*
 * Is @kernel the name that LLVM's compilers give the code of a target region,
 * `__omp_offloading_10302_1c8_main_l12`? The function that has the region, as it is mangled, and
 * the line of the construct. False also where @size is too small.
 */
bool af_region_offloaded(const char *kernel, char *function, size_t size, uint32_t *line);

/* Its memory; it may be used again for another trace, zeroed. */
void af_region_names_free(struct af_region_names *r);

#endif
