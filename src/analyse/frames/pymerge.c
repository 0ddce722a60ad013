#include "analyse/frames/pymerge.h"

#include <stddef.h>
#include <string.h>

#include "trace/layout.h"

/* Beginnings of names. */
static const char *const glue_prefixes[] = {
    "PyObject_Call",
    "_PyObject_Call",
    "PyObject_Vectorcall",
    "_PyObject_Vectorcall",
    "_PyObject_FastCall",
    "method_vectorcall",
    "cfunction_call",
    "cfunction_vectorcall",
    "slot_tp_",
    "slot_nb_",
    "slot_sq_",
    "slot_mp_",
    "slot_am_",
    "PyRun_",
    "_PyRun_",
    "pymain_",
    "_PyMethodDef_RawFast",
    "_PyCFunction_Fast",
    "_PyFunction_Fast",
    "PyVectorcall_",
    "_PyVectorcall_",
    "PyEval_EvalCode",
    "_PyEval_EvalCode",
    "gen_send",
    "vectorcall_",
};

static const char *const glue_names[] = {
    "_PyFunction_Vectorcall",
    "function_code_fastcall",
    "_PyEval_Vector",
    "_PyEval_EvalFrame",
    "PyEval_EvalFrame",
    "PyEval_EvalFrameEx",
    "_PyObject_MakeTpCall",
    "_PyMethodDescr_Vectorcall",
    "object_vacall",
    "call_function",
    "do_call_core",
    "type_call",
    "wrapper_call",
    "wrap_call",
    "wrap_init",
    "wrap_next",
    "gen_iternext",
    "builtin_exec",
    "builtin_eval",
    "builtin___build_class__",
    "run_mod",
    "run_eval_code_obj",
    "Py_RunMain",
    "Py_BytesMain",
    "Py_Main",
    "_Py_UnixMain",
    "thread_run",
    "t_bootstrap",
    "pythread_wrapper",
};

/* "PyObject_Calloc" begins like the functions that call, and allocates. */
static bool name_allocates(const char *name, size_t len)
{
	return len >= 15 && memcmp(name + len - 15, "PyObject_Calloc", 15) == 0;
}

static bool name_is(const char *name, size_t len, const char *known)
{
	return strlen(known) == len && memcmp(name, known, len) == 0;
}

static bool name_begins(const char *name, size_t len, const char *prefix)
{
	size_t prefix_len = strlen(prefix);

	return len >= prefix_len && memcmp(name, prefix, prefix_len) == 0;
}

enum af_py_native af_py_native(const char *symbol)
{
	size_t len = symbol ? strcspn(symbol, ".") : 0;

	if (!len)
		return AF_PY_NATIVE_OTHER;
	if (name_begins(symbol, len, "py::"))
		return AF_PY_NATIVE_TRAMPOLINE;
	if (name_is(symbol, len, "_PyEval_EvalFrameDefault"))
		return AF_PY_NATIVE_EVAL;
	if (name_begins(symbol, len, "_TAIL_CALL_"))
		return AF_PY_NATIVE_STEP;
	if (name_allocates(symbol, len))
		return AF_PY_NATIVE_OTHER;
	for (size_t i = 0; i < sizeof glue_prefixes / sizeof *glue_prefixes; i++)
		if (name_begins(symbol, len, glue_prefixes[i]))
			return AF_PY_NATIVE_GLUE;
	for (size_t i = 0; i < sizeof glue_names / sizeof *glue_names; i++)
		if (name_is(symbol, len, glue_names[i]))
			return AF_PY_NATIVE_GLUE;
	return AF_PY_NATIVE_OTHER;
}

/*
 * The native frames from @at on that are one call of the eval loop: steps, the loop's own frame
 * and the trampoline that called it. Returns how many, 0 when @at is none of them.
 */
static uint32_t eval_len(const uint8_t *native, uint32_t nr, uint32_t at)
{
	uint32_t end = at;

	while (end < nr && native[end] == AF_PY_NATIVE_STEP)
		end++;
	if (end < nr && native[end] == AF_PY_NATIVE_EVAL) {
		end++;
		return end + (end < nr && native[end] == AF_PY_NATIVE_TRAMPOLINE) - at;
	}
	/* A step whose loop cannot be seen. */
	return end - at ? 1 : 0;
}

static uint32_t eval_count(const uint8_t *native, uint32_t nr)
{
	uint32_t calls = 0, len;

	for (uint32_t i = 0; i < nr; i += len ? len : 1) {
		len = eval_len(native, nr, i);
		calls += len != 0;
	}
	return calls;
}

/* Groups end in a border, the last one perhaps without. */
static uint32_t group_count(const uint64_t *python, uint32_t nr)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; i < nr; i++)
		groups += python[i] == AF_PY_BORDER;
	return groups + (nr && python[nr - 1] != AF_PY_BORDER);
}

struct merge {
	const uint8_t *native;
	const uint64_t *python;
	struct af_py_merged *out;
	uint32_t nr;
};

/* Parts of the two stacks that belong together. */
struct part {
	uint32_t native, native_end, python, python_end;
	bool from_outside;
};

/* Add the next group's frames. Returns how many: a group may be empty. */
static uint32_t merge_group(struct merge *m, struct part *p)
{
	uint32_t before = m->nr;

	while (p->python < p->python_end) {
		uint32_t i = p->python++;
		if (m->python[i] == AF_PY_BORDER)
			break;
		m->out[m->nr++] = (struct af_py_merged){AF_PY_MERGED_PYTHON, i};
	}
	return m->nr - before;
}

static void merge_native(struct merge *m, uint32_t from, uint32_t len)
{
	for (uint32_t i = from; i < from + len; i++) {
		bool glue = m->native[i] == AF_PY_NATIVE_GLUE;
		m->out[m->nr++] =
		    (struct af_py_merged){glue ? AF_PY_MERGED_GLUE : AF_PY_MERGED_NATIVE, i};
	}
}

static void merge_part(struct merge *m, struct part p)
{
	uint32_t calls = eval_count(m->native + p.native, p.native_end - p.native);
	uint32_t groups = group_count(m->python + p.python, p.python_end - p.python);

	/* How many of the innermost calls have no group, and of the innermost groups no call. */
	uint32_t bare_calls = p.from_outside && calls > groups ? calls - groups : 0;
	uint32_t loose_groups = p.from_outside && calls && groups > calls ? groups - calls : 0;

	for (uint32_t i = p.native, len; i < p.native_end; i += len ? len : 1) {
		len = eval_len(m->native, p.native_end, i);
		if (!len) {
			merge_native(m, i, 1);
			continue;
		}
		for (; loose_groups; loose_groups--)
			merge_group(m, &p);
		if (bare_calls) {
			bare_calls--;
			merge_native(m, i, len);
		} else if (!merge_group(m, &p)) {
			merge_native(m, i, len);
		}
	}
	while (p.python < p.python_end)
		merge_group(m, &p);
}

static uint32_t native_left_out(const uint8_t *native, uint32_t nr)
{
	uint32_t i = 0;

	while (i < nr && native[i] != AF_PY_NATIVE_LEFT_OUT)
		i++;
	return i;
}

static uint32_t python_left_out(const uint64_t *python, uint32_t nr)
{
	uint32_t i = 0;

	while (i < nr && !AF_IS_LEFT_OUT(python[i]))
		i++;
	return i;
}

/* Where the outermost @calls of the eval loop begin. */
static uint32_t native_outermost(const uint8_t *native, uint32_t nr, uint32_t calls)
{
	uint32_t all = eval_count(native, nr), i = 0, len;

	for (; i < nr && all > calls; i += len ? len : 1) {
		len = eval_len(native, nr, i);
		all -= len != 0;
	}
	return i;
}

/* Where the outermost @groups begin. */
static uint32_t python_outermost(const uint64_t *python, uint32_t nr, uint32_t groups)
{
	uint32_t all = group_count(python, nr), i = 0;

	for (; i < nr && all > groups; i++)
		all -= python[i] == AF_PY_BORDER;
	return i;
}

/* A mark of @i, which is one of the native stack's or (@kind) of Python's. */
static void merge_mark(struct merge *m, uint32_t kind, uint32_t i)
{
	m->out[m->nr++] = (struct af_py_merged){kind, i};
}

uint32_t af_py_merge(const uint8_t *native, uint32_t nr_native, bool native_complete,
                     const uint64_t *python, uint32_t nr_python, bool python_complete,
                     struct af_py_merged *out)
{
	struct merge m = {native, python, out, 0};
	struct part inner = {0, nr_native, 0, nr_python, native_complete && python_complete},
		    outer = inner;
	uint32_t calls = eval_count(native, nr_native), groups = group_count(python, nr_python);
	uint32_t n = native_left_out(native, nr_native), p = python_left_out(python, nr_python);

	/* Does what is there match as it is? */
	bool whole = n == nr_native ? p == nr_python || calls <= groups
	                            : (p == nr_python ? groups <= calls : groups == calls);
	if (whole) {
		merge_part(&m, inner);
		return m.nr;
	}
	outer.python = p + 1;
	/* The call that the first group behind the mark is of is left out with its frames. */
	if (p + 1 < nr_python && python[p + 1] == AF_PY_BORDER)
		outer.python++;
	outer.native = n + 1;
	if (n == nr_native)
		outer.native =
		    native_outermost(native, nr_native,
		                     group_count(python + outer.python, nr_python - outer.python));
	else if (p == nr_python)
		outer.python = python_outermost(python, nr_python,
		                                eval_count(native + n + 1, nr_native - n - 1));
	inner.from_outside = false;
	inner.native_end = n == nr_native ? outer.native : n;
	inner.python_end = p == nr_python ? outer.python : p;
	merge_part(&m, inner);
	if (n < nr_native)
		merge_mark(&m, AF_PY_MERGED_NATIVE, n);
	if (p < nr_python)
		merge_mark(&m, AF_PY_MERGED_PYTHON, p);
	merge_part(&m, outer);
	return m.nr;
}
