/* aflame api: the models of the APIs that aflame traces, and the headers that they come from. */
#include "cmd/api/api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/headers/headers.h"
#include "api/model/merge.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cmd/shared/commands.h"

/* reading */

static int api_groups(const struct af_strings *list, bool is_flags, struct af_arena *a,
                      struct af_headers_group *groups, uint32_t *nr, struct af_err *err)
{
	for (uint32_t i = 0; i < list->nr; i++) {
		const char *equal = strchr(list->items[i], '=');

		if (!equal || equal == list->items[i])
			return af_fail_plain(err, -EINVAL, "--%s takes TYPE=PATTERNS, not \"%s\"",
			                     is_flags ? "flags" : "enum", list->items[i]);
		groups[(*nr)++] = (struct af_headers_group){
		    af_arena_strdup(a, list->items[i], (size_t)(equal - list->items[i])), equal + 1,
		    is_flags};
	}
	return 0;
}

static void api_args(const struct af_strings *list, const char *option, struct af_arena *a,
                     const char **args, uint32_t *nr)
{
	for (uint32_t i = 0; i < list->nr; i++) {
		size_t len = strlen(list->items[i]);
		char *arg = af_arena_alloc(a, len + 3);

		memcpy(arg, option, 2);
		memcpy(arg + 2, list->items[i], len);
		args[(*nr)++] = arg;
	}
}

int af_api_headers(const struct af_api_options *o, const char *name, uint32_t nr, char **files,
                   struct af_model *m, struct af_err *err)
{
	scope_free struct af_headers_group *groups =
	    af_xcalloc(o->enums.nr + o->flags.nr, sizeof *groups);
	scope_free const char **args = af_xcalloc(o->folders.nr + o->macros.nr, sizeof *args);
	struct af_headers of = {.files = (const char *const *)files,
	                        .nr_files = nr,
	                        .args = args,
	                        .functions = o->functions,
	                        .types = o->types,
	                        .leave = o->leave,
	                        .version = o->version,
	                        .groups = groups};
	int rc = api_groups(&o->enums, false, &m->arena, groups, &of.nr_groups, err);

	if (!rc)
		rc = api_groups(&o->flags, true, &m->arena, groups, &of.nr_groups, err);
	if (rc)
		return rc;
	api_args(&o->folders, "-I", &m->arena, args, &of.nr_args);
	api_args(&o->macros, "-D", &m->arena, args, &of.nr_args);
	m->name = af_arena_strdup(&m->arena, name, strlen(name));
	rc = af_headers_read(&of, m, err);
	if (!rc && !m->nr_functions)
		return af_fail_plain(err, -ENODATA, "the headers declare no function%s",
		                     o->functions ? " that --functions lets in" : "");
	return rc;
}

/* writing */

static void command_option(struct af_buf *b, const char *option, const char *value)
{
	if (!value)
		return;
	af_buf_fmt(b, " --%s ", option);
	af_buf_word(b, value);
}

static void command_list(struct af_buf *b, const char *option, const struct af_strings *list)
{
	for (uint32_t i = 0; i < list->nr; i++)
		command_option(b, option, list->items[i]);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The command that made the model, without paths: they are those of one machine. */
static void command_text(const struct af_api_options *o, const char *name, uint32_t nr,
                         char **files, struct af_buf *b)
{
	af_buf_fmt(b, "# aflame api read %s", name);
	for (uint32_t i = 0; i < nr; i++) {
		af_buf_char(b, ' ');
		af_buf_word(b, *files[i] == '/' ? last_part(files[i]) : files[i]);
	}
	command_list(b, "macro", &o->macros);
	command_list(b, "enum", &o->enums);
	command_list(b, "flags", &o->flags);
	command_option(b, "functions", o->functions);
	command_option(b, "types", o->types);
	command_option(b, "leave", o->leave);
	command_option(b, "version", o->version);
	if (o->kind)
		af_buf_fmt(b, " --kind 0x%04x", (unsigned)o->kind);
	command_option(b, "title", o->title);
	for (uint32_t i = 0; i < o->numbers.nr; i++)
		command_option(b, "numbers", last_part(o->numbers.items[i]));
	command_option(b, "onto", o->onto ? last_part(o->onto) : NULL);
	af_buf_char(b, '\n');
}

static int api_onto(const struct af_api_options *o, struct af_model *m, struct af_err *err)
{
	uint32_t nr = o->numbers.nr + (o->onto ? 1 : 0);
	scope_free struct af_model *old = af_xcalloc(nr, sizeof *old);
	int rc = 0;

	for (uint32_t i = 0; !rc && i < nr; i++)
		rc = af_model_read(&old[i],
		                   o->onto && !i ? o->onto : o->numbers.items[i - !!o->onto], err);
	if (!rc)
		af_model_number(m, old, nr);
	if (!rc && o->onto) {
		af_model_keep(m, &old[0]);
		m->kind = old[0].kind;
		m->title = af_arena_strdup(&m->arena, old[0].title, strlen(old[0].title));
	}
	for (uint32_t i = 0; i < nr; i++)
		af_model_free(&old[i]);
	return rc;
}

static int api_write(int fd, void *arg, struct af_err *err)
{
	int rc = af_buf_flush(arg, fd);

	return rc ? af_fail(err, rc, "cannot write the model") : 0;
}

static int api_read(const struct af_api_options *o, const char *name, uint32_t nr, char **files,
                    struct af_err *err)
{
	struct af_model m = {0};
	struct af_buf text = {0};
	int rc = af_api_headers(o, name, nr, files, &m, err);

	if (!rc)
		rc = api_onto(o, &m, err);
	if (!rc && !o->onto && !o->kind)
		rc = af_fail_plain(
		    err, -EINVAL,
		    "give --kind, the first event kind of the API's block, or --onto");
	if (!rc) {
		m.kind = o->kind ? (uint32_t)o->kind : m.kind;
		m.title = o->title ? o->title : m.title ? m.title : name;
		command_text(o, name, nr, files, &text);
		af_model_write(&m, &text);
		rc = af_atomic_write(&o->output, api_write, &text, err);
	}
	af_buf_free(&text);
	af_model_free(&m);
	return rc;
}

static int api_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct af_api_options *o = state;

	if (nr_words >= 3 && !strcmp(words[0], "read"))
		return api_read(o, words[1], (uint32_t)nr_words - 2, words + 2, err);
	if (nr_words >= 2 && !strcmp(words[0], "diff"))
		return af_api_diff(o, &af_command_api, words[1], (uint32_t)nr_words - 2, words + 2,
		                   err);
	if (nr_words >= 1 && !strcmp(words[0], "list"))
		return af_api_list(o, (uint32_t)nr_words - 1, words + 1, err);
	return af_fail_plain(err, -EINVAL,
	                     "expected list [NAME...], read NAME FILE..., or diff NAME [FILE...]");
}

#define AT(field) offsetof(struct af_api_options, field)

static const struct af_option api_options_table[] = {
    {AF_OPT_STRING, "output", 'o', "FILE", "the model to write; - for standard output (-)",
     AT(output.file)},
    AF_PUBLIC_OPTION(struct af_api_options, output.public),
    {AF_OPT_GROUP, NULL, 0, NULL, "Headers", 0},
    {AF_OPT_LIST, "include", 'I', "DIR", "search it for headers; may be given again", AT(folders)},
    {AF_OPT_LIST, "macro", 'D', "MACRO", "define it (MACRO or MACRO=VALUE)", AT(macros)},
    {AF_OPT_STRING, "functions", 0, "PATTERNS", "only functions that match (cu*; commas between)",
     AT(functions)},
    {AF_OPT_STRING, "types", 0, "PATTERNS", "typedefs to take that no function uses", AT(types)},
    {AF_OPT_STRING, "leave", 0, "PATTERNS", "no enumerations and macros that match", AT(leave)},
    {AF_OPT_LIST, "enum", 0, "TYPE=PATTERNS", "macros that match are values of TYPE", AT(enums)},
    {AF_OPT_LIST, "flags", 0, "TYPE=PATTERNS", "the same, and TYPE is a set of bits", AT(flags)},
    {AF_OPT_STRING, "version", 0, "MACRO", "of the headers: the value of a macro, or a text",
     AT(version)},
    {AF_OPT_GROUP, NULL, 0, NULL, "The model that read writes", 0},
    {AF_OPT_STRING, "onto", 0, "FILE", "an older one: its numbers and vanished functions are kept",
     AT(onto)},
    {AF_OPT_LIST, "numbers", 0, "FILE",
     "another one whose numbers hold for functions of the same name", AT(numbers)},
    {AF_OPT_U64, "kind", 0, "N", "the first event kind of its block (that of --onto)", AT(kind)},
    {AF_OPT_STRING, "title", 0, "TEXT", "its title (that of --onto)", AT(title)},
    {AF_OPT_GROUP, NULL, 0, NULL, "diff and list", 0},
    {AF_OPT_STRING, "model", 0, "FILE", "diff: compare with this model (the one inside aflame)",
     AT(model)},
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: the changes, or the list, as JSON", AT(json)},
    {AF_OPT_END},
};

const struct af_command af_command_api = {
    .name = "api",
    .usage = "[OPTIONS] list|read|diff [NAME] [FILE...]",
    .summary = "List the APIs that aflame traces, or read them from C headers",
    .details =
	"list shows the APIs: how many functions each level of `record --api` records, and the\n"
	"headers that they are from. With names (of APIs or functions) and patterns it shows\n"
	"functions: the lowest level that records them, what their calls are for, and their\n"
	"parameters as they are recorded. T[] is an array, and an arrow stands before what the\n"
	"call writes. The words behind a function: \"bytes\", tally adds up what its calls move\n"
	"or allocate; \"waits\", a call can be seen with its arguments before it returns.\n"
	"\n"
	"read makes the model of an API from its headers: functions, parameters, types, names of\n"
	"values. aflame is built from such models. diff shows what headers add to, drop from or\n"
	"change in the model inside aflame, so it answers whether aflame knows all of a newer\n"
	"version. Models: opencl, cuda, cudart, mpi_openmpi, mpi_mpich,\n"
	"ze, hip.\n"
	"\n"
	"A FILE is a header: a path, or a name as #include <...> finds it. Functions come\n"
	"from the headers and from what they include of the same folder. diff takes the options\n"
	"by which the model was made, and without a FILE also its headers; -I says where they "
	"are.\n"
	"\n"
	"read and diff need libclang, which is opened at run time, and an aflame that was built "
	"with its\n"
	"header.\n"
	"\n"
	"Exit status of diff: 0 where nothing differs, 1 where something does, 2 on failure.",
    .examples =
	"aflame api list\twhich APIs are traced\n"
	"aflame api list 'cuMemcpy*'\thow copies of the CUDA driver are recorded\n"
	"aflame api diff cuda -I /usr/local/cuda/include\tis a function of these headers missing?\n"
	"aflame api read cuda cuda.h -I /usr/local/cuda/include --onto cuda.api -o "
	"cuda.api\ttake them into the model\n",
    .options = api_options_table,
    .state_size = sizeof(struct af_api_options),
    .defaults = &(const struct af_api_options){.output.file = "-"},
    .run = api_run,
};
