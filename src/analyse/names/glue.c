#include "analyse/names/glue.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/callers.h"
#include "analyse/tree/filter.h"
#include "base/arena.h"

/* Beginnings of names; '$' at the end: the whole name. */
static const char *const glue_names[] = {
    /* CPython, and what calls from it into C */
    "PyEval_", "_PyEval_", "PyObject_Vectorcall", "PyObject_MakeVectorcall", "PyObject_Call",
    "PyObject_MakeCall", "PyObject_FastCall", "PyObject_MakeFastCall", "_PyObject_", "_PyFunction_",
    "PyVectorcall", "_PyVectorcall", "PyCFunction", "_PyCFunction", "PyCFuncPtr_", "cfunction_",
    "method_vectorcall", "vectorcall_", "slot_tp_", "slot_nb_", "object_vacall", "PyRun_",
    "_PyRun_", "run_mod$", "run_eval_code_obj$", "pyrun_", "Py_RunMain", "Py_BytesMain", "Py_Main",
    "pymain_", "type_call$", "property_descr_", "ffi_call", "ffi_prep", "[libffi",
    "_ctypes_callproc", "_call_function_pointer", "pybind11::", "void pybind11::",
    /* libc and C++ */
    "_start$", "__libc_start", "clone$", "clone3$", "start_thread$", "thread_start$", "trampoline",
    "std::invoke", "std::__invoke", "std::function", "std::_Function_handler",
    /* PyTorch's dispatcher */
    "c10::Dispatcher", "c10::impl::wrap_kernel", "c10::impl::call_functor", "c10::BoxedKernel",
    /* Node, Java, Go, Rust, Perl, Ruby */
    "Builtins_JSEntry", "Builtins_Interpreter",
    "v8::internal::Execution::", "JavaCalls::", "JavaMain$", "thread_native_entry",
    "runtime.goexit", "std::rt::lang_start", "std::sys::backtrace::__rust_",
    "std::sys_common::backtrace::__rust_", "core::ops::function::FnOnce::", "Perl_runops_",
    "S_run_body", "vm_exec$", "vm_exec_core$", "rb_vm_exec$"};

static bool name_is(const char *text, size_t len, const char *rule)
{
	size_t of = strlen(rule);
	bool whole = rule[of - 1] == '$';

	of -= whole;
	return (whole ? len == of : len >= of) && !memcmp(text, rule, of);
}

static const char *skip(const char *s, const char *word)
{
	size_t len = strlen(word);

	return strncmp(s, word, len) ? s : s + len;
}

static const char *digits(const char *s)
{
	return s + strspn(s, "0123456789");
}

/*
 * Is it the file of the interpreter itself: "python3.11", "libpython3.13t.so.1.0"? Stripped, its
 * functions have no names to go by.
 */
static bool is_interpreter(const char *module)
{
	const char *slash = strrchr(module, '/');
	const char *s = slash ? slash + 1 : module;
	const char *python = skip(skip(s, "lib"), "python");

	if (python == skip(s, "lib") || (*python != '2' && *python != '3'))
		return false;
	for (s = python + 1; *s == '.' && digits(s + 1) > s + 1;)
		s = digits(s + 1);
	s = skip(skip(s, "t"), "d"); /* free threading, debugging */
	if (!strncmp(s, ".so", 3)) {
		s += 3;
		if (*s == '.' && s[1])
			s += strspn(s, ".0123456789");
	}
	return !*s;
}

/* Python's own import machinery, which stands between each module and those that it imports. */
static bool is_import(const char *text, size_t len)
{
	static const char *const ends[] = {" (<frozen importlib._bootstrap>",
	                                   " (<frozen importlib._bootstrap_external>"};

	if (!len || text[len - 1] != ')')
		return false;
	size_t end = len - 1, number = end;
	while (number && text[number - 1] >= '0' && text[number - 1] <= '9')
		number--;
	if (number < end && number && text[number - 1] == ':')
		end = number - 1;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t of = strlen(ends[i]);
		if (end >= of && !memcmp(text + end - of, ends[i], of))
			return true;
	}
	return false;
}

bool af_glue_is(const char *text, size_t len, enum af_frame frame, const char *module)
{
	if (frame == AF_FRAME_PYTHON)
		return is_import(text, len);
	if (frame != AF_FRAME_NATIVE && frame != AF_FRAME_INLINED)
		return false;
	for (size_t i = 0; i < sizeof glue_names / sizeof *glue_names; i++)
		if (name_is(text, len, glue_names[i]))
			return true;
	return module && is_interpreter(module);
}

uint32_t af_glue_hide(struct af_tree *dst, const struct af_tree *src)
{
	struct af_hits hits = {.is = af_xcalloc(src->nr_names + 1, sizeof *hits.is)};
	uint32_t nr = 0;

	for (uint32_t n = 1; n < src->nr_names; n++) {
		size_t len;
		const char *text = af_tree_text(src, n, &len);
		hits.is[n] = af_glue_is(text, len, af_tree_frame(src, n), af_tree_module(src, n));
	}
	for (uint32_t i = 1; i < src->nr; i++)
		nr += hits.is[src->nodes[i].name];
	if (nr)
		af_tree_hide(dst, src, &hits);
	free(hits.is);
	return nr;
}
