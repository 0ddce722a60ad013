/*
 * Writes OpenCL's hooks of calls that put work on a queue: with them a plain recording has the work
 * and who asked for it (src/inject/opencl/enqueue.c). Rules say what each does (op:) and moves.
 */
#include <string.h>

#include "api/generate/generate.h"

static int param_begins(const struct gen_function *f, const char *begin)
{
	for (uint32_t i = 0; i < f->nr_params; i++)
		if (!strncmp(f->params[i].name, begin, strlen(begin)))
			return (int)i;
	return -1;
}

static void real_write(const struct gen_api *api, const struct gen_function *f, int event,
                       FILE *out)
{
	fprintf(out, "((%s (*)(", gen_ctype(api->model, f->result));
	for (uint32_t i = 0; i < f->nr_params; i++)
		fprintf(out, "%s%s", i ? ", " : "", gen_ctype(api->model, f->params[i].type));
	fprintf(out, "))below[%u])(", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		fputs(i ? ", " : "", out);
		if ((int)i == event)
			fprintf(out, "AF_OPENCL_EVENT(call, (cl_event *)a%u)", i);
		else if ((int)i == f->error && event >= 0)
			fputs("&rc", out);
		else
			fprintf(out, "a%u", i);
	}
	fputc(')', out);
}

/* The kernel and its sizes; a task has none. */
static void kernel_write(const struct gen_function *f, FILE *out)
{
	static const char *const names[] = {"kernel", "work_dim", "global_work_size",
	                                    "local_work_size"};

	fputs("\t\taf_opencl_kernel_work(&call.descriptor", out);
	for (int i = 0; i < 4; i++) {
		int at = gen_param_named(f, names[i]);
		if (at >= 0)
			fprintf(out, ", a%d", at);
		else
			fputs(i == 1 ? ", 0" : ", NULL", out);
	}
	fputs(");\n", out);
}

static void descriptor_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	const struct af_length *moves = f->moves;

	if (strcmp(f->op, "KERNEL") && !moves)
		return;
	fputs("\tif (call.queue) {\n", out);
	if (!strcmp(f->op, "KERNEL"))
		kernel_write(f, out);
	if (moves) {
		fputs("\t\tstruct af_api_hook quiet = {.failed = true}, *c = &quiet;\n"
		      "\t\t(void)c;\n\t\tcall.descriptor.bytes = ",
		      out);
		gen_length(api, f, moves, out);
		fputs(";\n", out);
	}
	fputs("\t}\n", out);
}

static void launched_write(const struct gen_function *f, int event, FILE *out)
{
	int blocking = param_begins(f, "blocking");

	fprintf(out, "af_opencl_launched(&call, rc, (cl_event *)a%d, ", event);
	if (blocking >= 0)
		fprintf(out, "a%d", blocking);
	else
		fputs("false", out);
	fputs(");\n", out);
}

static void function_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	int event = gen_param_named(f, "event");

	if (event < 0)
		gen_die("%s has op:, but no parameter event", f->name);
	gen_args(api, f, out);
	fprintf(out, "static %s enqueue_%u(", gen_ctype(api->model, f->result), f->number);
	for (uint32_t i = 0; i < f->nr_params; i++)
		fprintf(out, "%s%s a%u", i ? ", " : "", gen_ctype(api->model, f->params[i].type),
		        i);
	fputs(")\n{\n", out);
	/* Without a list of events to wait for there must be an event; the driver says so. */
	if (gen_param_named(f, "event_wait_list") < 0) {
		fprintf(out, "\tif (!a%d)\n\t\treturn ", event);
		real_write(api, f, -1, out);
		fputs(";\n", out);
	}
	fprintf(out, "\tconst struct args_%u args = {", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++)
		fprintf(out, "%sa%u", i ? ", " : "", i);
	fprintf(out, "}, *a = &args;\n\t(void)a;\n\tAF_OPENCL_BEGIN(call, a0, AF_OP_%s);\n", f->op);
	descriptor_write(api, f, out);
	if (f->error >= 0) {
		fprintf(out, "\tcl_int rc = CL_SUCCESS;\n\t%s result = ",
		        gen_ctype(api->model, f->result));
		real_write(api, f, event, out);
		fputs(";\n\t", out);
		launched_write(f, event, out);
		fprintf(out, "\tif (a%d)\n\t\t*(cl_int *)a%d = rc;\n\treturn result;\n}\n\n",
		        f->error, f->error);
		return;
	}
	fputs("\tcl_int rc = ", out);
	real_write(api, f, event, out);
	fputs(";\n\treturn ", out);
	launched_write(f, event, out);
	fputs("}\n\n", out);
}

void gen_enqueues(const struct gen_api *api, FILE *out)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < api->nr_functions; i++)
		last = api->functions[i].number > last ? api->functions[i].number : last;
	fprintf(out,
	        "void *af_opencl_enqueue_below[%u];\n#define below af_opencl_enqueue_below\n\n",
	        last + 1);
	for (uint32_t i = 0; i < api->nr_functions; i++)
		if (api->functions[i].op)
			function_write(api, &api->functions[i], out);
	fputs("const struct af_api_entry af_opencl_enqueues[] = {\n", out);
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct gen_function *f = &api->functions[i];
		if (!f->op)
			continue;
		fprintf(out, "\t{\"%s\", %u, (void *)enqueue_%u, ", f->name, f->number, f->number);
		if (f->is_entry)
			fprintf(out, "AF_API_SLOT(%s)},\n", f->name);
		else
			fputs("-1},\n", out);
	}
	fputs("\t{NULL, 0, NULL, 0},\n};\n", out);
}
