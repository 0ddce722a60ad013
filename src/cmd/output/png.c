#include "cmd/output/png.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/program.h"
#include "base/system/tool.h"
#include "base/write.h"

#define CONVERTER "rsvg-convert"

enum { PNG_SECONDS = 120, PNG_MOST = 256 << 20 };

bool af_png_is(const char *name)
{
	size_t len = strlen(name);

	return !strcmp(name, "png") || (len > 4 && !strcmp(name + len - 4, ".png"));
}

int af_png_check(const char *name, struct af_err *err)
{
	char path[PATH_MAX];
	size_t len = strlen(name);

	if (af_program_find(CONVERTER, path))
		return 0;
	if (!strcmp(name, "png"))
		return af_fail_plain(err, -EINVAL,
		                     "a PNG is made by " CONVERTER
		                     ", which is not installed (librsvg2-bin, "
		                     "librsvg2-tools): write an SVG");
	return af_fail_plain(err, -EINVAL,
	                     "no format for %s: " CONVERTER
	                     " is not installed (librsvg2-bin, librsvg2-tools). With it, or where "
	                     "it is: -o %.*s.svg && " CONVERTER " -o %s %.*s.svg",
	                     name, (int)len - 4, name, name, (int)len - 4, name);
}

int af_png_write(int fd, af_atomic_write_all *svg, void *arg, struct af_err *err)
{
	static const char *const argv[] = {CONVERTER, "--unlimited", "--format=png", AF_TOOL_INPUT,
	                                   NULL};
	char path[PATH_MAX];
	struct af_buf png = {0};
	scope_close int memory = memfd_create("aflame.svg", MFD_CLOEXEC);

	if (memory < 0)
		return af_fail(err, -errno, "no memory for a picture");
	int rc = svg(memory, arg, err);
	if (rc)
		return rc;
	if (!af_program_find(CONVERTER, path))
		return af_fail_plain(err, -ENOENT, CONVERTER " is gone");
	const struct af_tool tool = {
	    .path = path, .argv = argv, .input = memory, .seconds = PNG_SECONDS, .most = PNG_MOST};
	rc = af_tool_run(&tool, &png, err);
	int written = rc ? 0 : af_write_all(fd, png.data, png.len);
	if (written)
		rc = af_fail(err, written, "cannot write the picture");
	af_buf_free(&png);
	return rc;
}
