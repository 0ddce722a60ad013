/*
 * dlclose, interposed: code addresses may be reused afterwards, so modules and stacks are
 * forgotten.
 */
#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/core/thread.h"
#include "inject/walk/modules.h"
#include "inject/walk/unwind.h"

/*
 * dlclose is interposed to learn that code addresses may be reused. dlopen is not: it looks at
 * its caller to find libraries, and new code invalidates nothing.
 */
INTERPOSE int dlclose(void *handle)
{
	int rc = REAL(dlclose)(handle);

	if (af_inject_session()) {
		af_unwind_forget();
		struct af_thread_context *t = af_thread_enter();
		if (t) {
			af_stream_put(&t->stream, mapping_gone, af_now_ns(),
			              .epoch = af_modules_epoch());
			af_thread_leave(t);
		}
	}
	return rc;
}
