/* Functions of a driver that the program asks for by name. */
#include "inject/ze_calls/ze_calls.h"

typedef uint32_t address_function(void *driver, const char *name, void **address);

static address_function *address_real;

/*
 * Ours, with @found below it. @found itself where another function of that name is there already:
 * two drivers may have one each.
 */
static void *put_below(const struct af_api_entry *e, void *found)
{
	void *none = NULL;
	bool ours = __atomic_compare_exchange_n(&af_ze_extension_next[e->number], &none, found,
	                                        false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);

	return ours || none == found ? e->wrapper : found;
}

static uint32_t address_get(void *driver, const char *name, void **address)
{
	uint32_t rc = address_real(driver, name, address);

	if (rc || !name || !address || !*address || !af_api_lent)
		return rc;
	const struct af_api_entry *own = af_ze_calls_entry(af_api_ze_entries, name);
	const struct af_api_entry *e = af_ze_calls_entry(af_ze_extension_entries, name);
	if (own && *address == af_ze_calls_real(name))
		*address = own->wrapper; /* the loader's own function */
	else if (e)
		*address = put_below(e, *address);
	else
		af_ze_calls_unknown(name);
	return rc;
}

void *af_ze_calls_extensions(void *real)
{
	address_real = (address_function *)real;
	return (void *)address_get;
}
