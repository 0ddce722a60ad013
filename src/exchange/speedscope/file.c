#include "exchange/speedscope/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/events/event.h"

static ssize_t memory_read(void *arg, void *to, size_t size)
{
	struct speedscope_file *f = arg;
	size_t n = f->size - f->at < size ? f->size - f->at : size;

	memcpy(to, f->data + f->at, n);
	f->at += n;
	return (ssize_t)n;
}

void speedscope_open(struct speedscope_file *f, struct af_builder *d, const uint8_t *data,
                     size_t size)
{
	*f = (struct speedscope_file){.builder = d, .data = data, .size = size};
}

static void profile_free(struct speedscope_profile *p)
{
	free(p->frames);
	free(p->samples);
	free(p->weights);
	free(p->events);
	*p = (struct speedscope_profile){0};
}

void speedscope_close(struct speedscope_file *f)
{
	profile_free(&f->profile);
	free(f->frames);
	af_json_close(&f->json);
}

static bool take_name(struct speedscope_file *f, uint32_t *name)
{
	enum af_json_token token = af_json_next(&f->json);

	if (token != AF_JSON_STRING)
		return af_json_skip(&f->json, token);
	f->builder->unused[AF_BUILDER_TEXTS_UNUSED] += f->json.cut;
	*name = af_builder_name(f->builder, f->json.text, f->json.len);
	return true;
}

static bool take_word(struct speedscope_file *f, char *to, size_t size)
{
	uint64_t cut = 0;
	size_t len;

	return import_take_text(&f->json, to, size, &len, &cut);
}

/* The number that was just read, where it stands. */
static struct speedscope_number number_here(struct speedscope_file *f)
{
	uint64_t end = af_json_position(&f->json);

	if (f->json.cut || f->json.len > end)
		return (struct speedscope_number){0};
	return (struct speedscope_number){(const char *)f->data + end - f->json.len,
	                                  (uint32_t)f->json.len};
}

static bool take_number(struct speedscope_file *f, struct speedscope_number *n)
{
	enum af_json_token token = af_json_next(&f->json);

	if (token != AF_JSON_NUMBER)
		return af_json_skip(&f->json, token);
	*n = number_here(f);
	return true;
}

static uint32_t index_here(struct speedscope_file *f)
{
	int64_t v;

	return af_json_fixed(f->json.text, f->json.len, 0, &v) && v >= 0 && v < UINT32_MAX
	           ? (uint32_t)v
	           : UINT32_MAX;
}

/* Each value of the array that comes, by @take, which is given its first token. */
static bool take_array(struct speedscope_file *f,
                       bool (*take)(struct speedscope_file *f, enum af_json_token token))
{
	enum af_json_token token = af_json_next(&f->json);

	if (token != AF_JSON_ARRAY)
		return af_json_skip(&f->json, token);
	while ((token = af_json_next(&f->json)) != AF_JSON_ARRAY_END)
		if (!take(f, token))
			return false;
	return true;
}

static bool take_frame(struct speedscope_file *f, enum af_json_token token)
{
	struct af_json *j = &f->json;
	struct af_builder_frame_of frame = {.kind = AF_BUILDER_NATIVE};
	struct import_number line = {0};
	bool read = true;

	if (token != AF_JSON_OBJECT)
		return af_json_skip(j, token);
	while (read && (token = af_json_next(j)) == AF_JSON_KEY) {
		if (import_is(j, "name"))
			read = take_name(f, &frame.name);
		else if (import_is(j, "file"))
			read = take_name(f, &frame.file);
		else if (import_is(j, "line"))
			read = import_take_number(j, 0, &line);
		else
			read = af_json_skip(j, af_json_next(j));
	}
	frame.line = import_u32(&line);
	if (!frame.name)
		frame.name = af_builder_name(f->builder, "[no name]", 9);
	AF_GROW(f->frames, f->nr_frames, f->cap_frames);
	f->frames[f->nr_frames++] = frame;
	return read && token == AF_JSON_OBJECT_END;
}

static bool take_shared(struct speedscope_file *f)
{
	struct af_json *j = &f->json;
	enum af_json_token token = af_json_next(j);
	bool read = true;

	if (token != AF_JSON_OBJECT)
		return af_json_skip(j, token);
	while (read && (token = af_json_next(j)) == AF_JSON_KEY)
		read = import_is(j, "frames") ? take_array(f, take_frame)
		                              : af_json_skip(j, af_json_next(j));
	return read && token == AF_JSON_OBJECT_END;
}

static bool take_stack(struct speedscope_file *f, enum af_json_token token)
{
	struct speedscope_profile *p = &f->profile;
	struct speedscope_sample sample = {.first = p->nr_frames};

	if (token != AF_JSON_ARRAY)
		return af_json_skip(&f->json, token);
	while ((token = af_json_next(&f->json)) == AF_JSON_NUMBER) {
		AF_GROW(p->frames, p->nr_frames, p->cap_frames);
		p->frames[p->nr_frames++] = index_here(f);
		sample.nr++;
	}
	AF_GROW(p->samples, p->nr_samples, p->cap_samples);
	p->samples[p->nr_samples++] = sample;
	return token == AF_JSON_ARRAY_END;
}

static bool take_weight(struct speedscope_file *f, enum af_json_token token)
{
	struct speedscope_profile *p = &f->profile;

	if (token != AF_JSON_NUMBER)
		return af_json_skip(&f->json, token);
	AF_GROW(p->weights, p->nr_weights, p->cap_weights);
	p->weights[p->nr_weights++] = number_here(f);
	return true;
}

static bool take_event(struct speedscope_file *f, enum af_json_token token)
{
	struct speedscope_profile *p = &f->profile;
	struct speedscope_event e = {.frame = UINT32_MAX};
	struct af_json *j = &f->json;
	struct import_number frame = {0};
	char type[8] = "";
	bool read = true;

	if (token != AF_JSON_OBJECT)
		return af_json_skip(j, token);
	while (read && (token = af_json_next(j)) == AF_JSON_KEY) {
		if (import_is(j, "type"))
			read = take_word(f, type, sizeof type);
		else if (import_is(j, "at"))
			read = take_number(f, &e.at);
		else if (import_is(j, "frame"))
			read = import_take_number(j, 0, &frame);
		else
			read = af_json_skip(j, af_json_next(j));
	}
	e.type = type[0];
	if (import_fits(&frame))
		e.frame = (uint32_t)frame.value;
	AF_GROW(p->events, p->nr_events, p->cap_events);
	p->events[p->nr_events++] = e;
	return read && token == AF_JSON_OBJECT_END;
}

static bool take_member(struct speedscope_file *f)
{
	struct speedscope_profile *p = &f->profile;
	struct af_json *j = &f->json;

	if (import_is(j, "name"))
		return take_name(f, &p->name);
	if (import_is(j, "unit"))
		return take_word(f, p->unit, sizeof p->unit);
	if (import_is(j, "startValue"))
		return take_number(f, &p->start);
	if (import_is(j, "endValue"))
		return take_number(f, &p->end);
	if (import_is(j, "samples"))
		return take_array(f, take_stack);
	if (import_is(j, "weights"))
		return take_array(f, take_weight);
	if (import_is(j, "events"))
		return take_array(f, take_event);
	if (!import_is(j, "type"))
		return af_json_skip(j, af_json_next(j));
	char type[16] = "";
	bool read = take_word(f, type, sizeof type);
	p->sampled = !strcmp(type, "sampled");
	p->evented = !strcmp(type, "evented");
	return read;
}

static bool take_profile(struct speedscope_file *f, enum af_json_token token)
{
	bool read = true;

	if (token != AF_JSON_OBJECT)
		return af_json_skip(&f->json, token);
	profile_free(&f->profile);
	while (read && (token = af_json_next(&f->json)) == AF_JSON_KEY)
		read = take_member(f);
	/* A profile that is cut off is used as far as it goes. */
	f->take(f->arg, f, &f->profile);
	return read && token == AF_JSON_OBJECT_END;
}

/* Once through the file: for all but the profiles, or for these. */
static bool file_pass(struct speedscope_file *f, bool profiles)
{
	struct af_json *j = &f->json;
	enum af_json_token token;
	bool read = true;

	af_json_close(j);
	f->at = 0;
	af_json_open(j, memory_read, f);
	if (af_json_next(j) != AF_JSON_OBJECT)
		return false;
	while (read && (token = af_json_next(j)) == AF_JSON_KEY) {
		if (profiles && import_is(j, "profiles"))
			read = take_array(f, take_profile);
		else if (!profiles && import_is(j, "shared"))
			read = take_shared(f);
		else if (!profiles && import_is(j, "name"))
			read = take_name(f, &f->name);
		else if (!profiles && import_is(j, "exporter"))
			read = take_word(f, f->exporter, sizeof f->exporter);
		else
			read = af_json_skip(j, af_json_next(j));
	}
	return read && token == AF_JSON_OBJECT_END && af_json_next(j) == AF_JSON_END;
}

bool speedscope_read(struct speedscope_file *f,
                     void (*take)(void *arg, struct speedscope_file *f,
                                  const struct speedscope_profile *p),
                     void *arg)
{
	f->take = take;
	f->arg = arg;
	bool frames = file_pass(f, false);
	return file_pass(f, true) && frames;
}
