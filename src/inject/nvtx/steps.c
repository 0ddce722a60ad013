#include "inject/nvtx/steps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "inject/core/lock.h"

enum { NAMES = 64, NAME_BYTES = 64 };

/* A kind of step: "step 17" and "step 18" are one. */
struct step_name {
	uint64_t count;
	uint32_t len;
	char text[NAME_BYTES];
};

static struct {
	struct af_fork_lock lock;
	uint32_t fork_epoch; /* counts of a parent are no steps of ours */
	struct step_name names[NAMES];
	uint32_t nr;
	const struct step_name *chosen; /* NULL: the steps are not known yet */
	bool on;                        /* the recorder was asked to record */
	/* The range of the last step, which switches recording off: as it was begun. */
	bool open;
	struct af_step_edge last;
	pthread_t thread; /* of the first range of all: its outermost ranges may be steps */
	bool has_thread;
} steps = {.lock = AF_FORK_LOCK};

/* The length of the name without its number: "step 17", "step#17", "step_17". */
static uint32_t plain_len(const char *name, uint32_t len)
{
	uint32_t n = len;

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	while (n && n < len && strchr(" #:_=-/", name[n - 1]))
		n--;
	return n;
}

static bool is_named(const char *wanted, const char *name, uint32_t len)
{
	size_t n = strlen(wanted);

	return (n == len || n == plain_len(name, len)) && !memcmp(wanted, name, n);
}

static void forget(const struct af_session *s)
{
	steps.fork_epoch = af_inject_fork_epoch();
	steps.nr = 0;
	steps.chosen = NULL;
	steps.on = steps.open = steps.has_thread = false;
	if (!*s->steps_name)
		return;
	/* One name is given, so there is one count. */
	steps.names[0] = (struct step_name){0};
	steps.chosen = &steps.names[0];
	steps.nr = 1;
}

/* Without a name, steps are outermost ranges and marks of the first thread that has some. */
static struct step_name *name_of(const char *name, uint32_t len)
{
	uint32_t n = plain_len(name, len), i = 0;

	n = n < NAME_BYTES ? n : NAME_BYTES;
	while (i < steps.nr &&
	       (steps.names[i].len != n || memcmp(steps.names[i].text, name, n) != 0))
		i++;
	if (i == NAMES)
		return NULL;
	struct step_name *found = &steps.names[i];
	if (i == steps.nr) {
		steps.nr++;
		*found = (struct step_name){.len = n};
		memcpy(found->text, name, n);
	}
	return found;
}

static struct step_name *step_of(const struct af_session *s, const struct af_step_edge *e)
{
	if (*s->steps_name)
		return is_named(s->steps_name, e->name, e->len) ? &steps.names[0] : NULL;
	if (!steps.has_thread) {
		steps.has_thread = true;
		steps.thread = pthread_self();
	}
	if (e->depth || !pthread_equal(steps.thread, pthread_self()))
		return NULL;
	struct step_name *is = name_of(e->name, e->len);
	return !steps.chosen || is == steps.chosen ? is : NULL;
}

static void count_report(struct af_session *s, uint64_t count)
{
	uint64_t most = atomic_load(&s->nr_steps);

	while (most < count && !atomic_compare_exchange_weak(&s->nr_steps, &most, count))
		;
}

static struct af_session *session_of_steps(void)
{
	struct af_session *s = af_inject_session();

	return s && s->flags & AF_SESSION_STEPS ? s : NULL;
}

/* Count one step: 0, or what is to be asked of the recorder. */
static enum af_ask begin(struct af_session *s, const struct af_step_edge *e)
{
	if (steps.fork_epoch != af_inject_fork_epoch() || !steps.nr)
		forget(s);
	struct step_name *is = step_of(s, e);
	if (!is)
		return AF_ASK_ADMIT;
	is->count++;
	count_report(s, is->count);
	bool mark = e->edge == AF_RANGE_MARK, begins = is->count == s->steps_first;
	if (begins) {
		steps.chosen = is;
		steps.on = true;
	}
	if (steps.on && is->count == s->steps_last && !mark) {
		steps.open = true;
		steps.last = *e;
		steps.thread = pthread_self();
	}
	/* A mark is the end of the step before. */
	if (mark && steps.on && is->count > s->steps_last) {
		steps.on = steps.open = false;
		return AF_ASK_STEPS_END;
	}
	return begins ? AF_ASK_STEPS_BEGIN : AF_ASK_ADMIT;
}

void af_steps_begin(const struct af_step_edge *e)
{
	struct af_session *s = e->name && e->len ? session_of_steps() : NULL;

	if (!s)
		return;
	af_inject_check_fork();
	af_fork_lock(&steps.lock);
	enum af_ask ask = begin(s, e);
	af_fork_unlock(&steps.lock);
	if (ask)
		af_inject_ask(ask);
}

static bool is_end_of(const struct af_step_edge *last, const struct af_step_edge *e)
{
	if (e->edge == AF_RANGE_END)
		return last->edge == AF_RANGE_START && last->range == e->range;
	return e->edge == AF_RANGE_POP && last->edge == AF_RANGE_PUSH && last->depth == e->depth &&
	       pthread_equal(steps.thread, pthread_self());
}

void af_steps_end(const struct af_step_edge *e)
{
	if (!session_of_steps())
		return;
	af_inject_check_fork();
	af_fork_lock(&steps.lock);
	bool ends = steps.open && is_end_of(&steps.last, e);
	if (ends)
		steps.on = steps.open = false;
	af_fork_unlock(&steps.lock);
	if (ends)
		af_inject_ask(AF_ASK_STEPS_END);
}
