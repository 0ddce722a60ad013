/* In the place of the reader, where aflame was built without libclang's header. */
#include "api/headers/headers.h"

#include <errno.h>

#include "base/err.h"

int af_headers_read(const struct af_headers *of, struct af_model *m, struct af_err *err)
{
	(void)of;
	(void)m;
	return af_fail_plain(err, -ENOTSUP,
	                     "this aflame cannot read headers: build it where clang-c/Index.h is "
	                     "(Debian: libclang-14-dev)");
}
