/* In the child: the loader of Level Zero, and messages to the parent. */
#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/write.h"
#include "collect/zet/private.h"

void zet_send(const struct zet_api *z, enum zet_kind kind, const void *payload, size_t size)
{
	const struct zet_head head = {kind, (uint32_t)size};

	if (af_write_all(z->out, &head, sizeof head) || af_write_all(z->out, payload, size))
		_exit(1);
}

void zet_send_call(struct zet_api *z, enum af_zet_call call)
{
	const struct zet_call message = {call};

	if (z->call != call)
		zet_send(z, ZET_CALL, &message, sizeof message);
	z->call = call;
}

void zet_send_failed(const struct zet_api *z, uint32_t result, uint32_t device)
{
	const struct zet_failed message = {z->call, result, device};

	zet_send(z, ZET_FAILED, &message, sizeof message);
}

/* Intel's driver loads them by these names if ZET_ENABLE_METRICS is set. */
static bool can_load(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);

	if (library)
		dlclose(library);
	return library != NULL;
}

bool zet_load(struct zet_api *z)
{
	struct zet_missing missing = {0};

	z->library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!z->library) {
		missing.flags = ZET_NO_LOADER;
		zet_send(z, ZET_MISSING, &missing, sizeof missing);
		return false;
	}
#define C(name, parameters) z->name = (__typeof__(z->name))dlsym(z->library, #name);
	AF_ZET_CALLS(C)
#undef C
	if (!can_load("libigdmd.so.1"))
		missing.flags |= ZET_NO_DISCOVERY;
	if (!can_load("libigdml.so.1"))
		missing.flags |= ZET_NO_LIBRARY;
	zet_send(z, ZET_MISSING, &missing, sizeof missing);
	return true;
}
