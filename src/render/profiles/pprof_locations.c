/* Locations of pprof's profile, with the functions and mappings that they name. */
#include <string.h>

#include "base/arena.h"
#include "render/profiles/pprof_private.h"

static void field(struct af_buf *b, uint32_t number, uint64_t value)
{
	if (value)
		af_pb_varint(b, number, value);
}

uint32_t pprof_intern(struct pprof *p, const char *text, size_t len)
{
	p->text.len = 0;
	af_buf_utf8(&p->text, text, len);
	return af_strtab_id(&p->strings, p->text.data ? p->text.data : "", p->text.len);
}

uint32_t pprof_intern_z(struct pprof *p, const char *text)
{
	return text ? pprof_intern(p, text, strlen(text)) : 0;
}

static uint32_t pprof_function(struct pprof *p, uint32_t name)
{
	const struct af_location *location = af_tree_location(p->tree, name);
	size_t len;
	const char *text = af_profile_function(p->tree, name, &len);
	uint32_t id = pprof_intern(p, text, len), file = pprof_intern_z(p, location->file);
	bool fresh;
	uint64_t *slot =
	    af_keys_at(&p->by_function, AF_KEY(id, file, location->first_line), &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	*slot = ++p->nr_functions;
	size_t at = af_pb_open(&p->functions, PPROF_FUNCTION);
	af_pb_varint(&p->functions, PPROF_FUNCTION_ID, *slot);
	field(&p->functions, PPROF_FUNCTION_NAME, id);
	field(&p->functions, PPROF_FUNCTION_FILE, file);
	field(&p->functions, PPROF_FUNCTION_FIRST_LINE, location->first_line);
	af_pb_close(&p->functions, at);
	return p->nr_functions;
}

/* Is the file called what the process is? */
static bool is_main(const struct af_tree *t, uint32_t node, const char *module)
{
	const char *slash = strrchr(module, '/');
	size_t len;

	while (t->nodes[node].parent)
		node = t->nodes[node].parent;
	const char *process = af_tree_text(t, t->nodes[node].name, &len);
	const char *base = slash ? slash + 1 : module;
	return strlen(base) == len && !memcmp(base, process, len);
}

static uint32_t pprof_mapping(struct pprof *p, uint32_t node, const struct af_location *location)
{
	if (!location->module)
		return 0;
	uint32_t file = pprof_intern_z(p, location->module),
		 build_id = pprof_intern_z(p, location->build_id);
	bool fresh;
	uint64_t *slot = af_map_at(&p->by_mapping, (uint64_t)file << 32 | build_id, &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	*slot = ++p->nr_mappings;
	bool first = !p->main_mapping.len && is_main(p->tree, node, location->module);
	struct af_buf *b = first ? &p->main_mapping : &p->mappings;
	size_t at = af_pb_open(b, PPROF_MAPPING);
	af_pb_varint(b, PPROF_MAPPING_ID, *slot);
	field(b, PPROF_MAPPING_FILE, file);
	field(b, PPROF_MAPPING_BUILD_ID, build_id);
	for (uint32_t has = PPROF_MAPPING_HAS_FUNCTIONS; has <= PPROF_MAPPING_HAS_INLINED; has++)
		af_pb_varint(b, has, 1);
	af_pb_close(b, at);
	return p->nr_mappings;
}

/* A location without its id: @node is the innermost of its address. */
static void location_fill(struct pprof *p, uint32_t node)
{
	const struct af_tree *t = p->tree;
	const struct af_location *location = af_tree_location(t, t->nodes[node].name);
	struct af_buf *b = &p->body;

	b->len = 0;
	field(b, PPROF_LOCATION_MAPPING, pprof_mapping(p, node, location));
	field(b, PPROF_LOCATION_ADDRESS, location->module ? location->address : 0);
	for (;; node = t->nodes[node].parent) {
		location = af_tree_location(t, t->nodes[node].name);
		size_t line = af_pb_open(b, PPROF_LOCATION_LINE);
		af_pb_varint(b, PPROF_LINE_FUNCTION, pprof_function(p, t->nodes[node].name));
		field(b, PPROF_LINE_LINE, location->line);
		af_pb_close(b, line);
		if (!location->inlined || !t->nodes[node].parent)
			break;
	}
}

/* Equal locations are one, even of different trees. */
static uint32_t pprof_location(struct pprof *p, uint32_t node)
{
	uint32_t before = p->known.nr;

	location_fill(p, node);
	uint32_t id = af_strtab_id(&p->known, p->body.data, p->body.len);
	if (id < before)
		return id;
	size_t at = af_pb_open(&p->locations, PPROF_LOCATION);
	af_pb_varint(&p->locations, PPROF_LOCATION_ID, id);
	af_buf_add(&p->locations, p->body.data, p->body.len);
	af_pb_close(&p->locations, at);
	return id;
}

static uint32_t pprof_chain(struct pprof *p, uint32_t node)
{
	const struct af_tree *t = p->tree;
	uint32_t parent = t->nodes[node].parent, name = t->nodes[node].name;
	bool inlined = parent && af_tree_location(t, name)->inlined;
	bool fresh;

	if (p->chains[node])
		return p->chains[node];
	uint64_t above = inlined ? pprof_chain(p, parent) : 0;
	uint64_t *slot = af_map_at(&p->by_chain, above << 32 | name, &fresh);
	if (fresh)
		*slot = p->by_chain.nr;
	return p->chains[node] = (uint32_t)*slot;
}

/* The location whose innermost frame @node is. */
uint32_t pprof_located(struct pprof *p, uint32_t node)
{
	bool fresh;
	uint64_t *slot = af_map_at(&p->by_location, pprof_chain(p, node), &fresh);

	if (fresh)
		*slot = pprof_location(p, node);
	return (uint32_t)*slot;
}
