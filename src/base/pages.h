/* Memory from the kernel, not from the program's heap: zeroed, and there as it is touched. */
#ifndef AF_BASE_PAGES_H
#define AF_BASE_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL and errno where there is none; munmap() frees it. @flags: more of mmap(2)'s, or 0. */
static inline void *af_pages(size_t size, int flags)
{
	void *p =
	    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

#endif
