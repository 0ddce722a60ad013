#include "render/profiles/firefox_thread.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "render/profiles/profile.h"
#include "render/text/label.h"

enum {
	FUNCTION_NAME,
	FUNCTION_IS_JS,
	FUNCTION_FOR_JS,
	FUNCTION_RESOURCE,
	FUNCTION_FILE,
	FUNCTION_LINE,
	FUNCTION_COLUMN
};
enum {
	FRAME_ADDRESS,
	FRAME_INLINED,
	FRAME_CATEGORY,
	FRAME_SUBCATEGORY,
	FRAME_FUNCTION,
	FRAME_SYMBOL,
	FRAME_WINDOW,
	FRAME_IMPLEMENTATION,
	FRAME_LINE,
	FRAME_COLUMN
};
enum { STACK_FRAME, STACK_PREFIX, STACK_CATEGORY, STACK_SUBCATEGORY };
enum { RESOURCE_LIB, RESOURCE_NAME, RESOURCE_HOST, RESOURCE_TYPE };
enum { RESOURCE_IS_LIBRARY = 1 };

static void table_open(struct firefox_table *table, const char *const *names)
{
	for (int i = 0; i < FIREFOX_COLUMNS && names[i]; i++)
		table->columns[i].name = names[i];
}

void firefox_thread_open(struct firefox_thread *t, const struct af_tree *tree,
                         struct af_strtab *libs)
{
	static const char *const functions[] = {"name",         "isJS",     "relevantForJS",
	                                        "resource",     "fileName", "lineNumber",
	                                        "columnNumber", NULL};
	static const char *const frames[] = {
	    "address",       "inlineDepth",    "category", "subcategory", "func", "nativeSymbol",
	    "innerWindowID", "implementation", "line",     "column",      NULL};
	static const char *const stacks[] = {"frame", "prefix", "category", "subcategory", NULL};
	static const char *const resources[] = {"lib", "name", "host", "type", NULL};
	static const char *const markers[] = {"name",     "startTime", "endTime", "phase",
	                                      "category", "data",      NULL};

	t->tree = tree;
	t->libs = libs;
	table_open(&t->functions, functions);
	table_open(&t->frames, frames);
	table_open(&t->stacks, stacks);
	table_open(&t->resources, resources);
	table_open(&t->markers, markers);
}

static void table_free(struct firefox_table *table)
{
	for (int i = 0; i < FIREFOX_COLUMNS; i++)
		af_buf_free(&table->columns[i].text);
}

void firefox_thread_close(struct firefox_thread *t)
{
	table_free(&t->functions);
	table_free(&t->frames);
	table_free(&t->stacks);
	table_free(&t->resources);
	table_free(&t->markers);
	af_keys_free(&t->by_function);
	af_map_free(&t->by_frame);
	af_map_free(&t->by_stack);
	af_map_free(&t->by_lib);
	af_strtab_free(&t->strings);
	af_buf_free(&t->name);
	af_buf_free(&t->process);
	free(t->samples);
	free(t->path);
}

static struct af_buf *table_at(struct firefox_table *table, int column)
{
	struct af_buf *b = &table->columns[column].text;

	if (!column)
		table->nr++;
	if (b->len)
		af_buf_char(b, ',');
	return b;
}

void firefox_put(struct firefox_table *table, int column, const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	af_buf_str(table_at(table, column), text);
}

void firefox_put_text(struct firefox_table *table, int column, const struct af_buf *text)
{
	af_buf_add(table_at(table, column), text->data, text->len);
}

static void put_number(struct firefox_table *table, int column, uint64_t number)
{
	af_buf_u64(table_at(table, column), number);
}

/* 0 is not known. */
static void put_known(struct firefox_table *table, int column, uint64_t number)
{
	if (number)
		put_number(table, column, number);
	else
		firefox_put(table, column, "null");
}

void firefox_put_ms(struct firefox_table *table, int column, uint64_t ns)
{
	af_label_exact(table_at(table, column), ns, 1000000);
}

uint32_t firefox_string(struct firefox_thread *t, const char *text, size_t len)
{
	struct af_buf clean = {0};

	af_buf_utf8(&clean, text, len);
	uint32_t id = af_strtab_id(&t->strings, clean.data ? clean.data : "", clean.len);
	af_buf_free(&clean);
	return id;
}

/* The resource (a file of machine code) that functions come from; -1 for none. */
static int64_t thread_resource(struct firefox_thread *t, const struct af_location *location)
{
	struct af_buf key = {0};
	bool fresh;

	if (!location->module)
		return -1;
	af_buf_str(&key, location->module);
	af_buf_char(&key, '\t');
	af_buf_str(&key, location->build_id ? location->build_id : "");
	uint32_t lib = af_strtab_id(t->libs, key.data, key.len) - 1; /* 0 is "" */
	af_buf_free(&key);
	uint64_t *slot = af_map_at(&t->by_lib, lib, &fresh);
	if (!fresh)
		return (int64_t)*slot;
	const char *slash = strrchr(location->module, '/');
	const char *name = slash && slash[1] ? slash + 1 : location->module;
	*slot = t->resources.nr;
	put_number(&t->resources, RESOURCE_LIB, lib);
	put_number(&t->resources, RESOURCE_NAME, firefox_string(t, name, strlen(name)));
	firefox_put(&t->resources, RESOURCE_HOST, "null");
	put_number(&t->resources, RESOURCE_TYPE, RESOURCE_IS_LIBRARY);
	return (int64_t)*slot;
}

static uint32_t thread_function(struct firefox_thread *t, uint32_t name)
{
	const struct af_location *location = af_tree_location(t->tree, name);
	size_t len;
	const char *text = af_profile_function(t->tree, name, &len);
	int64_t resource = thread_resource(t, location);
	uint32_t id = firefox_string(t, text, len);
	uint32_t file =
	    location->file ? firefox_string(t, location->file, strlen(location->file)) + 1 : 0;
	bool fresh;
	uint64_t *slot = af_keys_at(
	    &t->by_function, AF_KEY(id, file, (uint64_t)resource, location->first_line), &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	*slot = t->functions.nr;
	put_number(&t->functions, FUNCTION_NAME, id);
	firefox_put(&t->functions, FUNCTION_IS_JS, "false");
	firefox_put(&t->functions, FUNCTION_FOR_JS, "false");
	firefox_put(&t->functions, FUNCTION_RESOURCE, "%lld", (long long)resource);
	if (file)
		put_number(&t->functions, FUNCTION_FILE, file - 1);
	else
		firefox_put(&t->functions, FUNCTION_FILE, "null");
	put_known(&t->functions, FUNCTION_LINE, location->first_line);
	firefox_put(&t->functions, FUNCTION_COLUMN, "null");
	return (uint32_t)*slot;
}

/* The number of frames below @node in the stack that have its address. */
static uint32_t inline_depth(const struct af_tree *tree, uint32_t node)
{
	uint32_t depth = 0;

	while (tree->nodes[node].parent &&
	       af_tree_location(tree, tree->nodes[node].name)->inlined) {
		node = tree->nodes[node].parent;
		depth++;
	}
	return depth;
}

static uint32_t thread_frame(struct firefox_thread *t, uint32_t node)
{
	uint32_t name = t->tree->nodes[node].name, depth = inline_depth(t->tree, node);
	const struct af_location *location = af_tree_location(t->tree, name);
	bool fresh;
	uint64_t *slot = af_map_at(&t->by_frame, (uint64_t)depth << 32 | name, &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	uint32_t function = thread_function(t, name);
	struct firefox_table *frames = &t->frames;
	*slot = frames->nr;
	if (location->module)
		put_number(frames, FRAME_ADDRESS, location->address);
	else
		firefox_put(frames, FRAME_ADDRESS, "-1");
	put_number(frames, FRAME_INLINED, depth);
	put_number(frames, FRAME_CATEGORY, af_tree_frame(t->tree, name));
	put_number(frames, FRAME_SUBCATEGORY, 0);
	put_number(frames, FRAME_FUNCTION, function);
	firefox_put(frames, FRAME_SYMBOL, "null");
	firefox_put(frames, FRAME_WINDOW, "0");
	firefox_put(frames, FRAME_IMPLEMENTATION, "null");
	put_known(frames, FRAME_LINE, location->line);
	firefox_put(frames, FRAME_COLUMN, "null");
	return (uint32_t)*slot;
}

static uint32_t stack_add(struct firefox_thread *t, uint32_t node)
{
	const struct af_tree_node *n = &t->tree->nodes[node];
	const uint64_t *prefix = n->parent ? af_map_get(&t->by_stack, n->parent) : NULL;
	uint32_t frame = thread_frame(t, node), number = t->stacks.nr;

	put_number(&t->stacks, STACK_FRAME, frame);
	if (prefix)
		put_number(&t->stacks, STACK_PREFIX, *prefix);
	else
		firefox_put(&t->stacks, STACK_PREFIX, "null");
	put_number(&t->stacks, STACK_CATEGORY, af_tree_frame(t->tree, n->name));
	put_number(&t->stacks, STACK_SUBCATEGORY, 0);
	*af_map_at(&t->by_stack, node, NULL) = number;
	return number;
}

/* Callers come first; stacks may be too deep to go down them by recursion. */
uint32_t firefox_stack(struct firefox_thread *t, uint32_t node)
{
	const uint64_t *known = af_map_get(&t->by_stack, node);
	uint32_t nr = 0, stack = known ? (uint32_t)*known : 0;

	for (; node && !af_map_get(&t->by_stack, node); node = t->tree->nodes[node].parent) {
		AF_GROW(t->path, nr, t->cap_path);
		t->path[nr++] = node;
	}
	while (nr-- > 0)
		stack = stack_add(t, t->path[nr]);
	return stack;
}

void firefox_sample(struct firefox_thread *t, uint32_t node, uint64_t time_ns, uint64_t weight)
{
	AF_GROW(t->samples, t->nr_samples, t->cap_samples);
	t->samples[t->nr_samples] = (struct firefox_sample){
	    .time_ns = time_ns,
	    .weight = weight,
	    .stack = firefox_stack(t, node),
	    .order = t->nr_samples,
	};
	t->nr_samples++;
}

static int sample_order(const void *a, const void *b)
{
	const struct firefox_sample *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void write_table(struct af_out *out, const char *name, struct firefox_table *table)
{
	struct af_buf *b = &out->text;

	af_buf_fmt(b, ",\n\"%s\":{\"length\":%u", name, table->nr);
	for (int i = 0; i < FIREFOX_COLUMNS && table->columns[i].name; i++) {
		af_buf_fmt(b, ",\"%s\":[", table->columns[i].name);
		af_buf_add(b, table->columns[i].text.data, table->columns[i].text.len);
		af_buf_char(b, ']');
		af_out_spill(out);
	}
	af_buf_char(b, '}');
}

/* Sorts the samples by time first: passes hand them over in any order. */
static void write_samples(struct firefox_thread *t, struct af_out *out, const char *weight_type,
                          uint64_t scale)
{
	struct af_buf *b = &out->text;
	static const char *const columns[] = {"stack", "time", "weight"};

	AF_SORT(t->samples, t->nr_samples, sample_order);
	af_buf_fmt(b, ",\n\"samples\":{\"length\":%u,\"weightType\":\"%s\"", t->nr_samples,
	           weight_type);
	for (int column = 0; column < 3; column++) {
		af_buf_fmt(b, ",\"%s\":[", columns[column]);
		for (uint32_t i = 0; i < t->nr_samples; i++) {
			const struct firefox_sample *s = &t->samples[i];
			if (i)
				af_buf_char(b, ',');
			if (column)
				af_label_exact(b, column == 1 ? s->time_ns : s->weight,
				               column == 1 ? 1000000 : scale);
			else
				af_buf_u64(b, s->stack);
			af_out_spill(out);
		}
		af_buf_char(b, ']');
	}
	af_buf_char(b, '}');
}

static void write_head(const struct firefox_thread *t, struct af_buf *b)
{
	af_buf_str(b, "{\"processType\":\"default\",\"processStartupTime\":0,"
	              "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
	              "\"pausedRanges\":[],\"name\":");
	af_buf_json(b, t->name.data, t->name.len);
	af_buf_str(b, ",\"processName\":");
	af_buf_json(b, t->process.data, t->process.len);
	af_buf_fmt(b, ",\"pid\":\"%u\",\"isMainThread\":%s,\"tid\":", t->pid,
	           t->tid && t->tid == t->pid ? "true" : "false");
	if (t->tid)
		af_buf_u64(b, t->tid);
	else
		af_buf_fmt(b, "\"row %u\"", t->number);
}

void firefox_thread_write(struct firefox_thread *t, struct af_out *out, const char *weight_type,
                          uint64_t scale)
{
	write_head(t, &out->text);
	write_samples(t, out, weight_type, scale);
	write_table(out, "markers", &t->markers);
	write_table(out, "stackTable", &t->stacks);
	write_table(out, "frameTable", &t->frames);
	write_table(out, "funcTable", &t->functions);
	write_table(out, "resourceTable", &t->resources);
	af_buf_str(&out->text, ",\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],"
	                       "\"name\":[],\"functionSize\":[]},\n\"stringArray\":[");
	for (uint32_t i = 0; i < t->strings.nr; i++) {
		if (i)
			af_buf_char(&out->text, ',');
		af_buf_json(&out->text, af_strtab_get(&t->strings, i), t->strings.lens[i]);
		af_out_spill(out);
	}
	af_buf_str(&out->text, "]}");
}
