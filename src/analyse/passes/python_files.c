/*
 * Finds which Python files are the program's own: those that lie in no folder of installed packages
 * or of the standard library, and that no compiler made.
 */
#include <string.h>

#include "analyse/pass/pass.h"

/* "/usr/lib/python3.12/json/decoder.py" */
static bool is_in_library(const char *file)
{
	const char *at = strstr(file, "/lib/python"), *wide = strstr(file, "/lib64/python");

	at = at ? at + strlen("/lib/python") : wide ? wide + strlen("/lib64/python") : NULL;
	return at && *at >= '0' && *at <= '9';
}

static bool is_own(const char *file)
{
	static const char *const others[] = {"/site-packages/", "/dist-packages/",
	                                     "torchinductor_"};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strstr(file, others[i]))
			return false;
	return *file && *file != '<' && !is_in_library(file);
}

static void python_files_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_strtab *own = self;
	struct af_ev_py_code fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	const struct af_py_code *code = af_world_py_code(w, ev->process, fixed.code);
	const char *name = code ? strrchr(code->file, '/') : NULL;
	if (code && is_own(code->file))
		af_strtab_id_z(own, name ? name + 1 : code->file);
}

static void python_files_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct af_strtab *own = self;

	(void)w;
	out->own_python = *own;
	*own = (struct af_strtab){0};
}

static void python_files_close(void *self)
{
	af_strtab_free(self);
}

const struct af_pass_ops af_pass_python_files = {
    .name = "python files",
    .question = "which Python files are the program's own?",
    .answers = AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_PY_CODE,
    .state_size = sizeof(struct af_strtab),
    .event = python_files_event,
    .finish = python_files_finish,
    .close = python_files_close,
};
