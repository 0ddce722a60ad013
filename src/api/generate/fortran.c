/*
 * Writes the functions that Fortran calls: all arguments are addresses, the result comes last, and
 * the lengths of texts come behind it, unseen. Each has three names: of mpif.h and the module mpi,
 * what Open MPI's module mpi_f08 calls, and what that of MPICH is made of.
 */
#include <ctype.h>
#include <string.h>

#include "api/generate/generate.h"

/* More than there are texts: what was not passed may be passed on, unread. */
enum { LENGTHS = 4, NAME_MAX_LEN = 80 };

/* MPI_Send_init: send_init */
static void name_make(const struct gen_function *f, char name[NAME_MAX_LEN])
{
	const char *from = strchr(f->name, '_') + 1;
	size_t i = 0;

	for (; i < NAME_MAX_LEN - 1 && from[i]; i++)
		name[i] = (char)tolower((unsigned char)from[i]);
	name[i] = 0;
}

/* The result is returned, not stored. */
static bool returns(const struct gen_function *f)
{
	return !f->can_fail;
}

static bool has_texts(const struct gen_function *f)
{
	for (uint32_t i = 0; i < f->nr_params; i++)
		if (f->params[i].is_text && !f->params[i].is_c_only)
			return true;
	return false;
}

/* The parameters: all of their types with @words "void *" and "uint64_t ", or their names. */
static void list_write(const struct gen_function *f, bool types, bool names, bool filled, FILE *out)
{
	const char *comma = "";

	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct gen_param *p = &f->params[i];
		if (p->is_c_only)
			continue;
		fprintf(out, "%s%s", comma, types ? "void *" : "");
		if (names)
			fprintf(out, "%s%u", filled && p->is_filled ? "filled_" : "b", i);
		comma = ", ";
	}
	if (!returns(f)) {
		fprintf(out, "%s%s%s", comma, types ? "void *" : "", names ? "ierr" : "");
		comma = ", ";
	}
	for (int i = 0; i < LENGTHS && has_texts(f); i++) {
		fprintf(out, "%s%s", comma, types ? "uint64_t " : "");
		if (names)
			fprintf(out, "n%d", i);
	}
	if (types && !*comma)
		fputs("void", out);
}

static const char *result_of(const struct gen_api *api, const struct gen_function *f)
{
	return returns(f) ? gen_ctype(api->model, f->result) : "void";
}

static void real_write(const struct gen_api *api, const struct gen_function *f, bool filled,
                       FILE *out)
{
	fprintf(out, "((%s (*)(", result_of(api, f));
	list_write(f, true, false, false, out);
	fputs("))*slot)(", out);
	list_write(f, false, true, filled, out);
	fputc(')', out);
}

/* The arguments as C has them. */
static void args_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	fprintf(out, "\tstruct args_%u args = {", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct gen_param *p = &f->params[i];
		fputs(i ? ", " : "", out);
		if (p->is_c_only)
			fputs("0", out);
		else if (p->target && p->is_native)
			fprintf(out, "AF_API_FORTRAN_PLACE(b%u)", i);
		else if (!strcmp(p->type, "pointer"))
			fprintf(out, "b%u", i);
		else if (p->is_native)
			fprintf(out, "AF_API_FORTRAN(%s, b%u)", p->type, i);
		else
			fprintf(out, "*(const %s *)b%u", gen_ctype(api->model, p->type), i);
	}
	fprintf(out, "%s}, *a = &args;\n\t(void)a;\n", f->nr_params ? "" : "0");
}

static void texts_write(const struct gen_function *f, FILE *out)
{
	int nr = 0;

	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct gen_param *p = &f->params[i];
		if (!p->is_text || p->is_c_only)
			continue;
		if (p->pointee == GEN_STRING)
			fprintf(out, "\tAF_API_FORTRAN_TEXT(a->a%u, n%d);\n", i, nr);
		nr++;
	}
}

static void function_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	fprintf(out,
	        "static inline __attribute__((always_inline)) %s fortran_%u(void **slot, "
	        "const char *name, bool f08",
	        result_of(api, f), f->number);
	if (f->nr_params || !returns(f))
		fputs(", ", out);
	if (f->nr_params || !returns(f))
		list_write(f, true, true, false, out);
	fprintf(out,
	        ")\n{\n\tstruct af_api_hook call, *c = &call;\n\tAF_API_NEXT(slot, name);\n"
	        "\tif (!af_api_fortran_begin(c, 0x%x, f08)) {\n\t\t%s",
	        api->model->kind + f->number, returns(f) ? "return " : "");
	real_write(api, f, false, out);
	fprintf(out, ";\n%s\t}\n\tAF_API_REGS(c);\n", returns(f) ? "" : "\t\treturn;\n");
	args_write(api, f, out);
	gen_keep(api, f, out);
	fprintf(out, "\t%s%s", returns(f) ? result_of(api, f) : "", returns(f) ? " result = " : "");
	real_write(api, f, true, out);
	fputs(";\n\taf_api_fortran_end();\n", out);
	if (!returns(f))
		fputs("\tint32_t result = ierr ? *(const int32_t *)ierr : 0;\n", out);
	texts_write(f, out);
	fprintf(out, "\tencode_%u(c, result, a", f->number);
	gen_kept(f, out);
	fprintf(out, ");\n%s}\n", returns(f) ? "\treturn result;\n" : "");
}

static void export_write(const struct gen_api *api, const struct gen_function *f,
                         const char *before, const char *behind, bool f08, FILE *out)
{
	char name[NAME_MAX_LEN];

	name_make(f, name);
	fprintf(out, "AF_API_EXPORT %s %s%s%s(", result_of(api, f), before, name, behind);
	list_write(f, true, true, false, out);
	fprintf(out, ")\n{\n\tstatic void *slot;\n\t%sfortran_%u(&slot, \"%s%s%s\", %d",
	        returns(f) ? "return " : "", f->number, before, name, behind, f08);
	if (f->nr_params || !returns(f))
		fputs(", ", out);
	if (f->nr_params || !returns(f))
		list_write(f, false, true, false, out);
	fputs(");\n}\n", out);
}

void gen_fortran(const struct gen_api *api, FILE *out)
{
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct gen_function *f = &api->functions[i];
		if (!f->is_fortran)
			continue;
		function_write(api, f, out);
		export_write(api, f, "mpi_", "_", false, out);
		export_write(api, f, "ompi_", "_f", false, out);
		export_write(api, f, "mpi_", "_f08_", true, out);
	}
}
