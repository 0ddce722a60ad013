#include "analyse/annotate/sampled.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/table/table.h"
#include "base/arena.h"
#include "base/scope.h"
#include "sym/device/stalls.h"

enum { SAMPLED_MANY = 4096 }; /* finds of a function that are joined now and then */

void af_sampled_free(struct af_sampled *s)
{
	for (uint32_t i = 0; i < s->nr_functions; i++)
		free(s->functions[i].at);
	free(s->functions);
	free(s->reasons);
	af_keys_free(&s->by_function);
	af_map_free(&s->by_reason);
	af_strtab_free(&s->strings);
	*s = (struct af_sampled){0};
}

static const char *sampled_text(struct af_sampled *s, const char *text)
{
	return af_strtab_get(&s->strings, af_strtab_id_z(&s->strings, text ? text : ""));
}

uint32_t af_sampled_function(struct af_sampled *s, const struct af_sampled_function *names)
{
	uint64_t object = af_strtab_id_z(&s->strings, names->object ? names->object : "");
	uint64_t name = af_strtab_id_z(&s->strings, names->name);
	bool fresh;
	uint64_t *slot = af_keys_at(&s->by_function, AF_KEY(object, name, names->symbol), &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	*slot = s->nr_functions;
	AF_GROW(s->functions, s->nr_functions, s->cap_functions);
	s->functions[s->nr_functions] = (struct af_sampled_function){
	    .name = sampled_text(s, names->name),
	    .shown = sampled_text(s, names->shown ? names->shown : names->name),
	    .object = sampled_text(s, names->object),
	    .device = sampled_text(s, names->device),
	    .source = sampled_text(s, names->source),
	    .trace = sampled_text(s, names->trace),
	    .symbol = names->symbol,
	};
	return s->nr_functions++;
}

static uint32_t reason_add(struct af_sampled *s, uint32_t string)
{
	AF_GROW(s->reasons, s->nr_reasons, s->cap_reasons);
	s->reasons[s->nr_reasons] = string;
	return s->nr_reasons++;
}

uint32_t af_sampled_reason(struct af_sampled *s, const char *name)
{
	bool fresh;

	if (!s->nr_reasons)
		reason_add(s, af_strtab_id_z(&s->strings, ""));
	if (!name || !*name)
		return 0;
	uint32_t string = af_strtab_id_z(&s->strings, name);
	uint64_t *slot = af_map_at(&s->by_reason, string, &fresh);
	if (fresh)
		*slot = reason_add(s, string);
	return (uint32_t)*slot;
}

static int at_order(const void *a, const void *b)
{
	const struct af_sampled_at *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->reason < y->reason ? -1 : x->reason > y->reason;
}

/* Finds at one place for one reason are one, which is the sum in the order in which they came. */
void af_sampled_function_finish(struct af_sampled_function *f)
{
	uint32_t nr = 0;

	AF_SORT(f->at, f->nr, at_order);
	for (uint32_t i = 0; i < f->nr; i++) {
		if (!nr || at_order(&f->at[nr - 1], &f->at[i])) {
			f->at[nr++] = f->at[i];
			continue;
		}
		f->at[nr - 1].samples += f->at[i].samples;
		f->at[nr - 1].idle += f->at[i].idle;
		f->at[nr - 1].time_ns += f->at[i].time_ns;
	}
	f->nr = nr;
}

void af_sampled_add(struct af_sampled *s, uint32_t function, const struct af_sampled_at *at,
                    double exact)
{
	struct af_sampled_function *f = &s->functions[function];

	af_sampled_reason(s, NULL); /* none is there, too */
	f->samples += at->samples;
	f->exact += at->samples * exact;
	f->time_ns += at->time_ns;
	/* Many launches have the same finds: joined in time, they take little memory. */
	if (f->nr == f->cap) {
		if (f->nr >= SAMPLED_MANY)
			af_sampled_function_finish(f);
		if (f->nr >= f->cap / 2)
			AF_ROOM(f->at, f->cap + 1ull, f->cap);
	}
	f->at[f->nr++] = *at;
}

static int function_order(const void *a, const void *b)
{
	const struct af_sampled_function *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	int name = strcmp(x->name, y->name), object = strcmp(x->object, y->object);
	if (name || object)
		return name ? name : object;
	return (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

void af_sampled_finish(struct af_sampled *s)
{
	for (uint32_t i = 0; i < s->nr_functions; i++)
		af_sampled_function_finish(&s->functions[i]);
	AF_SORT(s->functions, s->nr_functions, function_order);
}

const char *af_sampled_reason_name(const struct af_sampled *s, uint32_t reason, struct af_tables *f)
{
	const char *driver =
	    reason < s->nr_reasons ? af_strtab_get(&s->strings, s->reasons[reason]) : "";
	char name[AF_STALL_NAME];

	return *driver ? af_tables_text(f, "%s", af_stall_name(driver, name)) : "no reason given";
}

void af_sampled_reason_column(const struct af_sampled *s, uint32_t reason, enum af_cell_unit unit,
                              struct af_column *columns, uint32_t *nr, struct af_tables *f)
{
	const char *name = af_sampled_reason_name(s, reason, f);

	columns[*nr] = (struct af_column){
	    .title = name, .unit = unit, .key = af_column_key(f, columns, *nr, "stall_", name)};
	++*nr;
}

/* Is @name what people type for @full: all of it, or what is before its parameters? */
static bool name_is(const char *full, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(full, name, len))
		return false;
	if (!full[len])
		return true;
	return full[len] == '(' || full[len] == '<';
}

/* How well @name describes @f: 2 it is the name, 1 it is a part of it, 0 it is not. */
static int match_grade(const struct af_sampled_function *f, const char *name)
{
	size_t types = strcspn(f->shown, "(<");

	if (!strcmp(f->name, name) || name_is(f->shown, name))
		return 2;
	/* Names of templates begin with the type that they return: "unsigned int sum<4>(int)". */
	for (const char *space = f->shown;
	     (space = strchr(space, ' ')) && space < f->shown + types;)
		if (name_is(++space, name))
			return 2;
	return strstr(f->name, name) || strstr(f->shown, name) ? 1 : 0;
}

/* Where the object's name follows in NAME@1f3c: the @, or the end. */
static const char *name_object(const char *name)
{
	const char *at = strrchr(name, '@'), *end = name + strlen(name);

	return at && at[1] && !at[1 + strspn(at + 1, "0123456789abcdef")] ? at : end;
}

uint32_t af_sampled_match(const struct af_sampled *s, const char *name, uint32_t *out,
                          uint32_t most)
{
	uint32_t nr = 0;

	if (!name) {
		if (s->nr_functions && most)
			out[0] = 0;
		return s->nr_functions ? 1 : 0;
	}
	const char *object = name_object(name);
	scope_free char *bare = af_xcalloc((size_t)(object - name) + 1, 1);
	memcpy(bare, name, (size_t)(object - name));
	object += *object == '@';
	for (int grade = 2; grade && !nr; grade--)
		for (uint32_t i = 0; i < s->nr_functions; i++) {
			if (match_grade(&s->functions[i], bare) != grade ||
			    strncmp(s->functions[i].object, object, strlen(object)) != 0)
				continue;
			if (nr < most)
				out[nr] = i;
			nr++;
		}
	return nr;
}
