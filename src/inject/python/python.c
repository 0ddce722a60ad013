#include "inject/python/python.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "inject/python/code.h"
#include "inject/python/layout.h"
#include "inject/walk/ends.h"
#include "inject/walk/modules.h"

enum python_state {
	PYTHON_NONE,    /* no interpreter met */
	PYTHON_BUSY,    /* a thread is setting up */
	PYTHON_READY,   /* frames can be read */
	PYTHON_REFUSED, /* status says why not */
};

enum { PYTHON_DOUBTS = 64 }; /* unreadable stacks before the first readable one: wrong layout */

struct python {
	_Atomic uint32_t state; /* enum python_state; the fields below belong to READY */
	_Atomic uint32_t doubts;
	_Atomic bool proven; /* a code object looked as the layout says */
	uint32_t epoch;      /* of the module table when the interpreter was met */
	const struct af_py_layout *layout;
	void *(*tstate)(void); /* PyGILState_GetThisThreadState */
	char status[sizeof((struct af_err *)0)->msg];
};

static struct python python;

/*
 * The version of an interpreter without running it. Py_Version is there from 3.11 on; the stable
 * ABI only grows, so before it the newest function that is there tells the minor version.
 */
static uint32_t version_of(const struct af_module *m)
{
	static const struct {
		const char *since;
		uint32_t hex;
	} minors[] = {
	    {"PyIter_Send", 0x30a0000},
	    {"PyModule_AddType", 0x3090000},
	    {"PyCode_NewWithPosOnlyArgs", 0x3080000},
	};
	uint64_t size, hex = 0;

	uint64_t at = af_module_symbol(m, "Py_Version", &size);
	if (at)
		return af_guarded_read(&hex, at, sizeof hex) ? 0 : (uint32_t)hex;
	for (size_t i = 0; i < sizeof minors / sizeof *minors; i++)
		if (af_module_symbol(m, minors[i].since, &size))
			return minors[i].hex;
	return 0;
}

static void version_text(char *out, size_t size, uint32_t hex)
{
	unsigned minor = hex >> 16 & 0xff, micro = hex >> 8 & 0xff;

	/* Before 3.11 only the minor version is known. */
	if (hex >> 16 >= 0x30b)
		snprintf(out, size, "%u.%u.%u", hex >> 24, minor, micro);
	else
		snprintf(out, size, "%u.%u", hex >> 24, minor);
}

static int offsets_check(const struct af_module *m, const struct af_py_layout *l,
                         struct af_err *err)
{
	uint8_t offsets[AF_PY_OFFSETS_BYTES];
	uint64_t size;

	if (!af_py_layout_has_offsets(l))
		return 0;
	uint64_t at = af_module_symbol(m, "_PyRuntime", &size);
	if (!at || af_guarded_read(offsets, at, sizeof offsets))
		return af_py_layout_verify(l, "", 0, err);
	return af_py_layout_verify(l, offsets, sizeof offsets, err);
}

static int python_open(const struct af_module *m, uint64_t tstate, struct af_err *err)
{
	uint64_t size;
	uint32_t hex = version_of(m);
	const struct af_py_layout *l = af_py_layout(hex >> 16);
	char text[32];

	if (!hex)
		return af_fail_plain(err, -ENOTSUP, "Python older than 3.8: frames cannot be read");
	version_text(text, sizeof text, hex);
	if (!l)
		return af_fail_plain(err, -ENOTSUP,
		                     "Python %s: frames cannot be read, its layout "
		                     "is not known (3.8 to 3.15 are)",
		                     text);
	int rc = offsets_check(m, l, err);
	if (rc)
		return rc;
	rc = af_py_codes_open();
	if (rc)
		return af_fail(err, rc, "Python %s: no memory for its code objects", text);

	af_py_types.code = af_module_symbol(m, "PyCode_Type", &size);
	af_py_types.str = af_module_symbol(m, "PyUnicode_Type", &size);
	af_py_types.bytes = af_module_symbol(m, "PyBytes_Type", &size);
	python.layout = l;
	python.tstate = (void *(*)(void))tstate;
	python.epoch = af_modules_epoch();
	snprintf(python.status, sizeof python.status, "%s", text);
	return 0;
}

/* READY or REFUSED of an interpreter that may have been unloaded since. */
static bool python_stale(uint32_t state)
{
	return (state == PYTHON_READY || state == PYTHON_REFUSED) &&
	       python.epoch != af_modules_epoch();
}

void af_python_meet(const struct af_module *m)
{
	struct af_err err = {0};
	uint64_t size;

	uint64_t tstate = af_module_symbol(m, "PyGILState_GetThisThreadState", &size);
	if (!tstate)
		return;

	/* The first interpreter of a process is the one; a thread that comes second leaves it. */
	uint32_t state = atomic_load(&python.state);
	if (state != PYTHON_NONE && !python_stale(state))
		return;
	if (!atomic_compare_exchange_strong(&python.state, &state, PYTHON_BUSY))
		return;

	if (python_open(m, tstate, &err)) {
		snprintf(python.status, sizeof python.status, "%s", err.msg);
		python.epoch = af_modules_epoch();
		atomic_store(&python.state, PYTHON_REFUSED);
		return;
	}
	atomic_store(&python.doubts, 0);
	atomic_store(&python.proven, false);
	atomic_store_explicit(&python.state, PYTHON_READY, memory_order_release);
}

bool af_python_ready(void)
{
	return atomic_load_explicit(&python.state, memory_order_acquire) == PYTHON_READY &&
	       python.epoch == af_modules_epoch();
}

const char *af_python_status(void)
{
	uint32_t state = atomic_load_explicit(&python.state, memory_order_acquire);

	return state == PYTHON_READY || state == PYTHON_REFUSED ? python.status : "";
}

void af_python_after_fork(void)
{
	uint32_t busy = PYTHON_BUSY;

	atomic_compare_exchange_strong(&python.state, &busy, PYTHON_NONE);
	af_py_codes_after_fork();
}

/* Frames that never make sense mean that the table does not describe this interpreter. */
static __attribute__((noinline, cold)) void python_doubt(void)
{
	if (atomic_load(&python.proven) || atomic_fetch_add(&python.doubts, 1) < PYTHON_DOUBTS)
		return;

	uint32_t ready = PYTHON_READY;
	if (!atomic_compare_exchange_strong(&python.state, &ready, PYTHON_BUSY))
		return;
	char text[16];
	snprintf(text, sizeof text, "%.15s", python.status);
	snprintf(python.status, sizeof python.status,
	         "Python %s: frames cannot be read, they do not lie as its release has them", text);
	atomic_store_explicit(&python.state, PYTHON_REFUSED, memory_order_release);
}

/*
 * The innermost frame of the calling thread, or that of the native call of the eval loop outside
 * it: 0 for none. False: unreadable.
 */
static bool top_frame(const struct af_py_layout *l, bool outer, uint64_t *frame)
{
	uint64_t tstate = (uint64_t)python.tstate();

	*frame = 0;
	if (!tstate)
		return true;
	if (af_guarded_word(frame, tstate + l->tstate_frame))
		return false;
	if (l->cframe_frame == AF_PY_NO_CFRAME || !*frame)
		return true;
	if (outer && af_guarded_word(frame, *frame + l->cframe_previous))
		return false;
	return !af_guarded_word(frame, *frame + l->cframe_frame);
}

/* The fields that are read from a frame. */
struct frame_words {
	uint64_t code, back, instr;
	uint8_t entry;
};

static inline bool frame_read(const struct af_py_layout *l, uint64_t frame, struct frame_words *f)
{
	uint64_t entry = 0;

	if (af_guarded_word(&f->code, frame + l->frame_code) ||
	    af_guarded_word(&f->back, frame + l->frame_back) ||
	    af_guarded_word(&f->instr, frame + l->frame_instr))
		return false;
	/* The byte in the word that holds it: frames are aligned, none ends between. */
	if (l->chain != AF_PY_EACH && af_guarded_word(&entry, frame + (l->frame_entry & ~7u)))
		return false;
	f->entry = (uint8_t)(entry >> l->frame_entry % 8 * 8);
	return true;
}

/* Last instruction in bytes; whatever cannot be one counts as "not begun". */
static inline uint32_t frame_lasti(const struct af_py_layout *l, uint64_t instr, uint64_t code)
{
	if (l->lasti_scale) {
		int32_t lasti = (int32_t)instr;
		return lasti < 0 ? (uint32_t)-2 : (uint32_t)lasti * l->lasti_scale;
	}
	int64_t lasti = (int64_t)(instr - code - l->code_bytes);
	return lasti < 0 || lasti > INT32_MAX ? (uint32_t)-2 : (uint32_t)lasti;
}

/* The end of the chain in 3.15, PyThreadState.base_frame. */
static inline bool frame_is_base(const struct af_py_layout *l, const struct frame_words *f)
{
	return l->has_base && !f->back && f->entry >= l->entry_is;
}

/*
 * Add the frame to @frames: itself, a border, or both. Returns how many entries, 0 when its code
 * is none.
 */
static inline unsigned frame_add(const struct af_py_layout *l, const struct frame_words *f,
                                 uint64_t *frames)
{
	if (l->chain == AF_PY_SHIM && f->entry >= l->entry_is) {
		frames[0] = AF_PY_BORDER;
		return 1;
	}

	/* The low bits are a tag from 3.14 on; before, objects are aligned. */
	uint64_t code = f->code & ~3ull;
	uint32_t index = af_py_code_index(l, code);
	if (index == AF_PY_NO_CODE)
		return 0;
	frames[0] = (uint64_t)index << 32 | frame_lasti(l, f->instr, code);
	if (l->chain == AF_PY_SHIM || (l->chain == AF_PY_ENTRY && f->entry != l->entry_is))
		return 1;
	frames[1] = AF_PY_BORDER;
	return 2;
}

/* Entries that do not fit are put into the ring: those that give way to them are left out. */
static __attribute__((noinline, cold)) unsigned frames_put(uint64_t *frames, unsigned max,
                                                           unsigned nr, const uint64_t *added,
                                                           unsigned nr_added, uint64_t *left_out)
{
	for (unsigned i = 0; i < nr_added; i++, nr++) {
		unsigned slot = af_ends_slot(nr, max);

		if (nr == max)
			*left_out += frames[af_ends_ring(max) - 1] != AF_PY_BORDER;
		if (nr >= max)
			*left_out += frames[slot] != AF_PY_BORDER;
		frames[slot] = added[i];
	}
	return nr;
}

/*
 * Follow the chain from the innermost frame, or from the one that top_frame() gives for @outer.
 * Returns how many entries it had, which may be more than @max: then the array is to be closed.
 */
static unsigned frames_follow(const struct af_py_layout *l, bool outer, uint64_t *frames,
                              unsigned max, enum af_stop *stop, uint64_t *left_out)
{
	unsigned most = max < AF_ENDS_LEAST ? max - 1 : AF_WALK_MOST, nr = 0, added;
	struct frame_words f;
	uint64_t frame, pair[2];

	*stop = AF_STOP_UNREADABLE;
	if (!top_frame(l, outer, &frame))
		return 0;
	for (; frame; frame = f.back, nr += added) {
		bool fits = nr + 2 <= max;
		if (nr >= most) {
			*stop = AF_STOP_TOO_DEEP;
			return nr;
		}
		if (!frame_read(l, frame, &f))
			return nr;
		if (frame_is_base(l, &f))
			break;
		added = frame_add(l, &f, fits ? frames + nr : pair);
		if (!added) {
			*stop = AF_STOP_BAD_FRAME;
			return nr;
		}
		if (__builtin_expect(!fits, 0)) {
			nr = frames_put(frames, max, nr, pair, added, left_out);
			added = 0;
		}
	}
	*stop = AF_STOP_COMPLETE;
	return nr;
}

static unsigned frames_walk(const struct af_py_layout *l, bool outer, uint64_t *frames,
                            unsigned max, enum af_stop *stop)
{
	uint64_t left_out = 0;
	unsigned nr = frames_follow(l, outer, frames, max, stop, &left_out);

	return nr <= max ? nr : af_ends_close(frames, max, nr, left_out);
}

static inline bool walk_failed(enum af_stop stop)
{
	return stop == AF_STOP_UNREADABLE || stop == AF_STOP_BAD_FRAME;
}

unsigned af_python_frames(uint64_t *frames, unsigned max, enum af_stop *stop)
{
	*stop = AF_STOP_COMPLETE;
	if (!af_python_ready())
		return 0;

	const struct af_py_layout *l = python.layout;
	unsigned nr = frames_walk(l, false, frames, max, stop);

	/* 3.11 and 3.12 enter the eval loop with a _PyCFrame that has no frame yet. */
	if (!nr && walk_failed(*stop) && l->cframe_frame != AF_PY_NO_CFRAME)
		nr = frames_walk(l, true, frames, max, stop);

	if (walk_failed(*stop))
		python_doubt();
	else if (nr && !atomic_load_explicit(&python.proven, memory_order_relaxed))
		atomic_store_explicit(&python.proven, true, memory_order_relaxed);
	return nr;
}
