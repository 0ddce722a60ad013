/*
 * Shared by the files of pprof's format: a profile in the making.
 */
#ifndef AF_RENDER_PROFILES_PPROF_PRIVATE_H
#define AF_RENDER_PROFILES_PPROF_PRIVATE_H

#include "base/keys.h"
#include "base/map.h"
#include "base/protobuf.h"
#include "base/strtab.h"
#include "render/profiles/pprof_fields.h"
#include "render/profiles/profile.h"

struct pprof {
	struct af_profile profile;
	struct af_strtab strings;
	struct af_map by_mapping;
	struct af_keys by_function;
	struct af_strtab known; /* locations, as bytes; from 1 on */
	uint32_t nr_functions, nr_mappings;
	/* The output for each table, in the order of ids; a main program's mapping goes first. */
	struct af_buf samples, mappings, main_mapping, locations, functions;
	struct af_buf text, packed, body;

	/* For one tree: nodes that are one address, innermost last. */
	const struct af_tree *tree;
	/* Chain of the node that it is inlined into, and name → chain, from 1 on */
	struct af_map by_chain;
	struct af_map by_location; /* chain → location */
	uint32_t *chains;          /* by node; 0 not met */
};

/* Texts as UTF-8, which Protocol Buffers want; 0 for none. */
uint32_t pprof_intern(struct pprof *p, const char *text, size_t len);
uint32_t pprof_intern_z(struct pprof *p, const char *text);

/*
 * The location of p->tree whose innermost frame is @node; it and all that it refers to is written.
 */
uint32_t pprof_located(struct pprof *p, uint32_t node);

#endif
