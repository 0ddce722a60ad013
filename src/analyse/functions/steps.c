#include "analyse/functions/steps.h"

#include <ctype.h>
#include <string.h>

#include "analyse/pass/pass.h"

/* finish() alone sees what was asked for, so all that may be a step is kept until then. */
struct steps {
	struct af_strtab names;
	struct af_map count; /* by name */
};

bool af_steps_are(const char *name, const char *text, size_t len)
{
	size_t n = strlen(name);

	if (len < n || memcmp(text, name, n))
		return false;
	if (len == n)
		return true;
	if (!isdigit((unsigned char)text[len - 1]) ||
	    (n && isdigit((unsigned char)name[n - 1]) && isdigit((unsigned char)text[n])))
		return false;
	while (n < len && strchr(" #:_=-/", text[n]))
		n++;
	while (n < len && isdigit((unsigned char)text[n]))
		n++;
	return n == len;
}

static void steps_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct steps *s = self;
	struct af_ev_range f;

	(void)w;
	/* PyTorch's operations are numbered, and as many as there are calls. */
	if (!af_event_decode(ev, &f, sizeof f, tails) ||
	    strstr((const char *)tails[1].data, ", seq = "))
		return;
	if (f.edge == AF_RANGE_PUSH || f.edge == AF_RANGE_START || f.edge == AF_RANGE_MARK)
		++*af_map_at(&s->count,
		             af_strtab_id(&s->names, (const char *)tails[1].data, tails[1].len),
		             NULL);
}

static void steps_finish(void *self, const struct af_world *w, struct af_results *out)
{
	const struct steps *s = self;
	struct af_steps *to = out->query.own;
	uint64_t length_ns = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;
	uint64_t off_ns = w->lost[AF_LOST_PAUSED];

	to->wall_ns = length_ns > off_ns ? length_ns - off_ns : 0;
	to->nr = 0;
	for (uint32_t id = 1; to->name && id < s->names.nr; id++) {
		const uint64_t *nr = af_map_get(&s->count, id);
		const char *text = s->names.strings[id];
		if (nr && af_steps_are(to->name, text, strlen(text)))
			to->nr += *nr;
	}
}

static void steps_close(void *self)
{
	struct steps *s = self;

	af_strtab_free(&s->names);
	af_map_free(&s->count);
}

const struct af_pass_ops af_pass_steps = {
    .name = "steps",
    .question = "how long was it, and of how many steps?",
    .answers = AF_ANSWER_OWN,
    .wants = 1ull << AF_KIND_RANGE,
    .state_size = sizeof(struct steps),
    .event = steps_event,
    .finish = steps_finish,
    .close = steps_close,
};
