#include "render/timeline/perfetto_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/protobuf.h"
#include "base/strtab.h"

enum {
	EVENT_ARG = 4, /* debug_annotations */
	ARG_NAME = 1,  /* name_iid */
	ARG_INT = 4,
	ARG_TEXT = 6,

	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_ARG_NAME = 3,
	IID = 1,
	IS = 2,
};

void perfetto_names_free(struct perfetto_names *p)
{
	free(p->names);
	af_slices_works_free(&p->works);
}

static void intern(struct af_buf *interned, uint32_t field, uint32_t iid, const char *text)
{
	size_t at = af_pb_open(interned, field);

	af_pb_varint(interned, IID, iid);
	af_pb_utf8(interned, IS, text, strlen(text));
	af_pb_close(interned, at);
}

uint32_t perfetto_category(struct perfetto_names *p, enum af_slice_kind kind,
                           struct af_buf *interned)
{
	if (!(p->categories & 1u << kind))
		intern(interned, INTERNED_CATEGORY, kind + 1, af_slice_category(kind));
	p->categories |= 1u << kind;
	return kind + 1;
}

uint32_t perfetto_name(struct perfetto_names *p, const struct af_slices *all, uint32_t name,
                       struct af_buf *interned)
{
	AF_REACH(p->names, name, p->cap_names);
	if (!p->names[name]) {
		p->names[name] = ++p->nr_names;
		intern(interned, INTERNED_NAME, p->nr_names, af_strtab_get(all->names, name));
	}
	return p->names[name];
}

static void put_arg(struct perfetto_names *p, const struct af_slice_arg *a, struct af_buf *interned,
                    struct af_buf *event)
{
	uint32_t *iid = &p->args[a->name];

	if (!*iid) {
		*iid = ++p->nr_args;
		intern(interned, INTERNED_ARG_NAME, *iid, af_slice_arg_text(a->name));
	}
	if (a->is_text) {
		size_t at = af_pb_open(event, EVENT_ARG);
		af_pb_varint(event, ARG_NAME, *iid);
		af_pb_utf8(event, ARG_TEXT, a->text, strlen(a->text));
		af_pb_close(event, at);
		return;
	}
	uint64_t number = (uint64_t)a->number;
	size_t size = af_pb_size_varint(ARG_NAME, *iid) + af_pb_size_varint(ARG_INT, number);
	uint8_t *to = (uint8_t *)af_buf_room(event, 3 * AF_PB_MOST);
	to = af_pb_put_head(to, EVENT_ARG, size);
	to = af_pb_put_varint(to, ARG_NAME, *iid);
	to = af_pb_put_varint(to, ARG_INT, number);
	af_buf_took(event, (char *)to);
}

static void put_args(struct perfetto_names *p, const struct af_slices *all,
                     const struct af_slice *s, unsigned parts, struct af_buf *interned,
                     struct af_buf *event)
{
	struct af_slice_arg args[AF_SLICE_ARGS];
	int nr = af_slice_args(all, s, parts, args);

	for (int i = 0; i < nr; i++)
		put_arg(p, &args[i], interned, event);
}

void perfetto_args(struct perfetto_names *p, const struct af_slices *all, const struct af_slice *s,
                   struct af_buf *interned, struct af_buf *event)
{
	bool fresh;

	if (s->kind != AF_SLICE_WORK || !s->descriptor) {
		put_args(p, all, s, AF_SLICE_WHOLE, interned, event);
		return;
	}
	put_args(p, all, s, AF_SLICE_BEFORE, interned, event);
	struct af_buf *same = af_slices_work_text(&p->works, all, s->descriptor, &fresh);
	if (fresh)
		put_args(p, all, s, AF_SLICE_DESCRIPTOR, interned, same);
	af_buf_add(event, same->data, same->len);
	put_args(p, all, s, AF_SLICE_BEHIND, interned, event);
}
