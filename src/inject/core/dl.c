/*
 * Functions that code comes or goes by, interposed: addresses may be reused afterwards, so modules
 * and stacks are forgotten; and code that is made at run time has unwind tables.
 */
#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/core/thread.h"
#include "inject/walk/modules.h"
#include "inject/walk/registered.h"
#include "inject/walk/unwind.h"

/* Headers lack these functions of libgcc. */
INTERPOSE void __register_frame(void *frames);
INTERPOSE void __deregister_frame(void *frames);

static void code_is_gone(void)
{
	if (!af_inject_session())
		return;
	af_unwind_forget();
	struct af_thread_context *t = af_thread_enter();
	if (t) {
		af_stream_put(&t->stream, mapping_gone, af_now_ns(), .epoch = af_modules_epoch());
		af_thread_leave(t);
	}
}

/*
 * dlclose is interposed to learn that code addresses may be reused. dlopen is not: it looks at
 * its caller to find libraries, and new code invalidates nothing.
 */
INTERPOSE int dlclose(void *handle)
{
	int rc = REAL(dlclose)(handle);

	code_is_gone();
	return rc;
}

/*
 * Call the function that @caller would call without us: where it is in no library of all, it may be
 * in one that was loaded for the caller.
 */
static void frames_real(const char *name, const void *own, const void *caller, void *frames)
{
	void *real = dlsym(RTLD_NEXT, name), *library;
	Dl_info info;

	if (!real && dladdr(caller, &info) &&
	    (library = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY))) {
		real = dlsym(library, name);
		REAL(dlclose)(library);
	}
	if (real && real != own)
		((void (*)(void *))real)(frames);
}

INTERPOSE void __register_frame(void *frames)
{
	frames_real("__register_frame", (void *)__register_frame, __builtin_return_address(0),
	            frames);
	if (af_inject_session() && af_inject_may_call())
		af_registered_add(frames);
}

INTERPOSE void __deregister_frame(void *frames)
{
	frames_real("__deregister_frame", (void *)__deregister_frame, __builtin_return_address(0),
	            frames);
	if (af_registered_remove(frames))
		code_is_gone();
}
