/*
 * Shared by the files of the tree: names and the (parent, name) → node table.
 */
#ifndef AF_ANALYSE_TREE_PRIVATE_H
#define AF_ANALYSE_TREE_PRIVATE_H

#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/strtab.h"

struct tree_name {
	const char *text;
	uint32_t len;
	uint32_t frame : 8;     /* enum af_frame */
	uint32_t location : 24; /* of the locations, 0: none */
	uint32_t module;        /* of the modules, 0: none, MODULES: several */
	uint32_t key;           /* of the keys: module_key.h; 0: none */
	const char *reported;   /* text pointer of the last call with this name */
	uint32_t source;        /* file of the source, of the modules, 0: none */
	uint32_t source_line : 31;
	uint32_t source_several : 1;
	const char *source_reported; /* as reported, for the line above */
};

enum { MODULES = UINT32_MAX };

struct tree_name_slot {
	uint32_t hash;
	uint32_t id_plus_1;
};

struct tree_node_slot {
	uint32_t parent, name;
	uint32_t node; /* 0: free */
};

struct tree_locations; /* locations.c */

/* keys.c: keys of the latest files, by the addresses of their texts in the world. */
enum { KEYS_LAST = 256 };

struct tree_key {
	const char *module, *file;
	uint32_t key;
	bool kernel;
};

/* The label of a name that another function has, too: with its module. */
struct tree_label {
	const char *text; /* NULL: as it is */
	size_t len;
};

struct af_tree_private {
	struct af_arena texts;
	struct af_strtab modules, keys;
	struct tree_key keys_last[KEYS_LAST];
	struct tree_label *labels; /* of the first names */
	uint32_t nr_labels;
	struct tree_locations *locations; /* NULL: frames of this tree have none */
	struct tree_name *names;
	struct tree_name_slot *name_slots;
	uint32_t cap_names; /* slots: twice as many */

	/* Dropped by finish, made again by the next af_tree_child(). Power of two. */
	struct tree_node_slot *slots;
	uint32_t nr_slots, nr_in_slots;

	uint32_t depth;
	bool finished; /* child lists are in final order */
};

/* Append a node below @parent, in neither a child list nor the table; weights zeroed. */
uint32_t tree_append(struct af_tree *t, uint32_t parent, uint32_t name);

/* af_tree_name() for a frame with the location and the key of these numbers. */
uint32_t tree_name_of(struct af_tree *t, const char *text, size_t len, enum af_frame frame,
                      uint32_t location, uint32_t key, int borrowed);

/* The function of @name is in @file at @line, or also there. */
void tree_source_add(struct af_tree *t, uint32_t name, const char *file, uint32_t line,
                     bool several);

/* The number of the key of @location (NULL: none), 0: none. */
uint32_t tree_key_number(struct af_tree *t, enum af_frame frame,
                         const struct af_location *location);

/* The number of @location (NULL: none) among those of the tree, 0 when it has none. */
uint32_t tree_location_number(struct af_tree *t, const struct af_location *location);
void tree_locations_close(struct af_tree *t);

/* Is all of a column zero? */
bool tree_is_zero(const uint64_t *column, uint32_t nr);

/* The totals of a column of zeros are that column itself. */
void tree_total_free(struct af_tree *t, uint32_t weight);

/* Drop the results of finish(), and the memory that only building needs. */
void tree_unfinish(struct af_tree *t);
void tree_drop_slots(struct af_tree *t);

#endif
