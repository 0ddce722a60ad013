/* Loads a plug-in, and refuses one that was made for another aflame. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "plugin/private.h"

static int not_loaded(const char *path, const char *why, struct af_err *err)
{
	if (!strchr(path, '/') && !access(path, F_OK))
		return af_fail_plain(err, -EINVAL,
		                     "aflame does not look for plug-ins in the current directory: "
		                     "--plugin ./%s",
		                     path);
	return af_fail_plain(err, -EINVAL, "cannot be loaded: %s", why ? why : "no reason given");
}

static int version_check(const struct af_pass_descriptor *is, struct af_err *err)
{
	if (is->major != AF_PASS_MAJOR)
		return af_fail_plain(err, -ENOTSUP,
		                     "it was built for version %u.%u of aflame/pass.h, and this is "
		                     "%d.%d: build it with the header of this aflame",
		                     is->major, is->minor, AF_PASS_MAJOR, AF_PASS_MINOR);
	if (is->minor > AF_PASS_MINOR)
		return af_fail_plain(
		    err, -ENOTSUP,
		    "it needs version %u.%u of aflame/pass.h, and this aflame has "
		    "%d.%d: use a newer aflame, or build it with the header of this "
		    "one",
		    is->major, is->minor, AF_PASS_MAJOR, AF_PASS_MINOR);
	if (is->size < sizeof *is)
		return af_fail_plain(err, -ENOTSUP,
		                     "its descriptor has %u bytes, fewer than the %zu of version "
		                     "%d.0: is .size set to sizeof(struct af_pass_descriptor)?",
		                     is->size, sizeof *is, AF_PASS_MAJOR);
	if (!is->name || !*is->name)
		return af_fail_plain(err, -EINVAL, "its descriptor has no name");
	return 0;
}

int plugin_load(struct plugin_host *h, struct af_err *err)
{
	const char *path = h->request->path;

	plugin_enter(h, PLUGIN_LOAD);
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	plugin_leave(h);
	if (!so)
		return not_loaded(path, dlerror(), err);
	const struct af_pass_descriptor *is = dlsym(so, AF_PASS_SYMBOL);
	if (!is)
		return af_fail_plain(err, -EINVAL,
		                     "it has no symbol " AF_PASS_SYMBOL
		                     ", so it is no plug-in of aflame: "
		                     "define AF_PASS_DESCRIPTOR (aflame/pass.h)");
	h->is = *is;
	return version_check(&h->is, err);
}
