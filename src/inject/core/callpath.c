#include "inject/core/callpath.h"

#include <stdatomic.h>
#include <string.h>

#include "base/map.h"
#include "inject/core/thread.h"
#include "inject/python/python.h"
#include "inject/walk/modules.h"

/* How many modules and code objects of this process are defined in some stream. */
static _Atomic uint32_t defined_mappings, defined_codes;

void af_callpath_after_fork(void)
{
	atomic_store(&defined_mappings, 0);
	atomic_store(&defined_codes, 0);
}

void af_callpath_forget(struct af_callpaths *p)
{
	*p = (struct af_callpaths){.epoch = p->epoch};
}

/*
 * A hash of @nr words, by pairs whose products do not wait for one another: this is a hot path.
 * Each word has a secret of its own, and these are so far apart that no two addresses can change
 * places (with secrets that differed in few bits, a function that called itself from two places had
 * stacks of one hash).
 */
static uint64_t hash_words(const uint64_t *w, uint32_t nr, uint32_t stop)
{
	const uint64_t apart = 0x9e3779b97f4a7c15ull, *secret = af_hash_seed;
	uint64_t a = secret[0], b = secret[1], h = ((uint64_t)stop << 32 | nr) ^ secret[2];
	uint32_t i = 0;

	for (; i + 1 < nr; i += 2, a += apart, b += apart)
		h += af_mul_fold(w[i] ^ a, w[i + 1] ^ b);
	if (i < nr)
		h += af_mul_fold(w[i] ^ a, secret[3]);
	return af_scatter(h);
}

/* The id of @hash, or where to put one: *@slot is zeroed and belongs to the hash. */
static uint32_t memo_find(struct af_memo *m, uint64_t hash, uint32_t **slot)
{
	uint32_t set = (uint32_t)(hash >> 32) % AF_MEMO_SETS;
	uint64_t *hashes = m->hash[set];
	uint32_t *ids = m->id[set];

	for (int way = 0; way < AF_MEMO_WAYS; way++) {
		uint32_t id = ids[way];
		if (hashes[way] == hash && id)
			return id;
	}

	memmove(hashes + 1, hashes, (AF_MEMO_WAYS - 1) * sizeof *hashes);
	memmove(ids + 1, ids, (AF_MEMO_WAYS - 1) * sizeof *ids);
	hashes[0] = hash;
	ids[0] = 0;
	*slot = &ids[0];
	return 0;
}

static bool mapping_write(struct af_stream *s, const struct af_module *m)
{
	struct af_ev_mapping ev = {
	    .start = m->start,
	    .end = m->end,
	    .bias = m->bias,
	    .flags = m->flags,
	    .epoch = m->epoch,
	};
	struct af_tail tail[] = {
	    {m->build_id, m->build_id_len, 1},
	    {m->path, (uint32_t)strnlen(m->path, sizeof m->path), 0},
	};

	return af_stream_put_tail(s, AF_KIND_MAPPING, af_now_ns(), &ev, sizeof ev, tail, 2);
}

/*
 * A definition is marked as written after it was: one that met a full ring is tried again by the
 * next stack. Two threads may write the same one, which does no harm.
 */
static void define_mappings(struct af_stream *s)
{
	uint32_t i;

	while ((i = atomic_load(&defined_mappings)) < af_modules_nr()) {
		if (!mapping_write(s, af_module_at(i)))
			return;
		atomic_compare_exchange_strong(&defined_mappings, &i, i + 1);
	}
}

static bool code_write(struct af_stream *s, const struct af_py_code_copy *c)
{
	struct af_ev_py_code ev = {
	    .code = c->index,
	    .version = c->version,
	    .first_line = c->first_line,
	};
	uint32_t lines_len = c->lines_len < 32 << 10 ? c->lines_len : 0;
	struct af_tail tail[] = {
	    {c->lines, lines_len, 1},
	    {c->name, (uint32_t)strnlen(c->name, 4096), 0},
	    {c->file, (uint32_t)strnlen(c->file, 4096), 0},
	};

	return af_stream_put_tail(s, AF_KIND_PY_CODE, af_now_ns(), &ev, sizeof ev, tail, 3);
}

static void define_codes(struct af_stream *s)
{
	uint32_t i;

	while ((i = atomic_load(&defined_codes)) < af_python_nr_codes()) {
		const struct af_py_code_copy *c = af_python_code(i);
		/* Code 0 stands for those that found no room: of no use before there is one. */
		bool wanted = c && (i || af_python_lost());
		if (wanted && !code_write(s, c))
			return;
		atomic_compare_exchange_strong(&defined_codes, &i, i + 1);
	}
}

uint32_t af_callpath_stack(struct af_callpaths *p, struct af_stream *s, const struct af_capture *c)
{
	if (p->epoch != c->epoch) {
		/* The same addresses may be other code now. */
		memset(&p->stacks, 0, sizeof p->stacks);
		p->epoch = c->epoch;
	}

	uint64_t hash = hash_words(c->pcs, c->nr, c->stop);
	uint32_t *slot;
	uint32_t id = memo_find(&p->stacks, hash, &slot);
	if (id)
		return id;

	define_mappings(s);
	struct af_ev_stack ev = {
	    .stack = p->next_stack + 1,
	    .stop = c->stop,
	    .epoch = c->epoch,
	};
	struct af_tail tail = {c->pcs, c->nr * (uint32_t)sizeof *c->pcs, 8};
	if (!af_stream_put_tail(s, AF_KIND_STACK, af_now_ns(), &ev, sizeof ev, &tail, 1))
		return 0;
	return *slot = ++p->next_stack;
}

/* The id of the Python stack in @c; 0 when there is none. */
static uint32_t callpath_python(struct af_callpaths *p, struct af_stream *s,
                                const struct af_capture *c)
{
	if (!c->nr_py)
		return 0;

	uint64_t hash = hash_words(c->py, c->nr_py, c->py_stop);
	uint32_t *slot;
	uint32_t id = memo_find(&p->py_stacks, hash, &slot);
	if (id)
		return id;

	define_codes(s);
	struct af_ev_py_stack ev = {.py_stack = p->next_py_stack + 1, .stop = c->py_stop};
	struct af_tail tail = {c->py, c->nr_py * (uint32_t)sizeof *c->py, 8};
	if (!af_stream_put_tail(s, AF_KIND_PY_STACK, af_now_ns(), &ev, sizeof ev, &tail, 1))
		return 0;
	return *slot = ++p->next_py_stack;
}

static uint32_t callpath_pair(struct af_callpaths *p, struct af_stream *s, uint32_t stack,
                              uint32_t py_stack)
{
	uint32_t *slot;
	/* No two words have one af_mix(): this is the pair itself. */
	uint32_t id = memo_find(&p->paths, af_mix((uint64_t)stack << 32 | py_stack), &slot);
	if (id)
		return id;

	if (!af_stream_put(s, callpath, af_now_ns(), .callpath = p->next_callpath + 1,
	                   .stack = stack, .py_stack = py_stack))
		return 0;
	return *slot = ++p->next_callpath;
}

static bool words_same(const uint64_t *a, const uint64_t *b, uint32_t nr)
{
	uint64_t differ = 0;

	for (uint32_t i = 0; i < nr; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

uint32_t af_callpath_path(struct af_callpaths *p, struct af_stream *s, uint32_t stack,
                          const struct af_capture *c)
{
	struct af_recent_path *r = &p->recent[stack % AF_RECENT_PATHS];
	bool whole = c->nr_py <= AF_RECENT_PY && (!c->nr_py || c->py_stop == AF_STOP_COMPLETE);

	if (!stack)
		return 0;
	if (whole && r->stack == stack && r->nr_py == c->nr_py &&
	    words_same(r->py, c->py, c->nr_py))
		return r->callpath;

	uint32_t path = callpath_pair(p, s, stack, callpath_python(p, s, c));
	if (whole && path) {
		r->stack = stack;
		r->callpath = path;
		r->nr_py = c->nr_py;
		memcpy(r->py, c->py, c->nr_py * sizeof *c->py);
	}
	return path;
}

/*
 * The gap to the next launch that is chosen: any from 1 to 2N - 1, so N on average, and no loop of
 * the program keeps step with it (Marsaglia, "Xorshift RNGs", 2003).
 */
static uint32_t launches_gap(struct af_launch_choice *c, uint32_t every)
{
	uint32_t x = c->random;

	if (!x)
		x = (uint32_t)(af_hash_seed[0] ^ (uintptr_t)c >> 6) | 1;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	c->random = x;
	return 1 + (uint32_t)((uint64_t)x * (2ull * every - 1) >> 32);
}

static bool launch_is_chosen(struct af_launch_choice *c, uint32_t every)
{
	if (!c->left)
		c->left = launches_gap(c, every);
	return !--c->left;
}

static bool is_launch(enum af_call_category category)
{
	return category == AF_CATEGORY_LAUNCH || category == AF_CATEGORY_GRAPH_LAUNCH ||
	       category == AF_CATEGORY_COPY || category == AF_CATEGORY_FILL;
}

uint32_t af_callpath_call(struct af_thread_context *t, const struct af_regs *regs,
                          enum af_call_category category)
{
	const struct af_session *session = af_inject_session();
	uint32_t every = session ? session->launches_every : 0;

	if (every < 2 || !is_launch(category) || launch_is_chosen(&t->choice, every))
		return af_thread_callpath(t, regs);
	struct af_capture *c = &t->hook;
	c->epoch = af_modules_epoch();
	c->nr = c->nr_py = 0;
	c->stop = AF_STOP_NOT_CHOSEN;
	c->py_stop = AF_STOP_COMPLETE;
	return af_callpath_path(&t->callpaths, &t->stream,
	                        af_callpath_stack(&t->callpaths, &t->stream, c), c);
}
