/* A table of kernel symbols of hostile bytes; what is found lies in the text and at the address. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/resolve/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct af_kernel *k, uint64_t address, size_t size)
{
	const struct af_kernel_symbol *s = af_kernel_find(k, address);

	if (!s)
		return;
	if (s->start > address || !s->code || !*s->name || s->name < k->text ||
	    s->name + strlen(s->name) > k->text + size || *s->module != '[')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[32];
	struct af_kernel k;

	if (fd < 0)
		fd = memfd_create("kallsyms", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size) {
		perror("memfd");
		exit(2);
	}
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (af_kernel_open(&k, path))
		return 0;
	for (uint32_t i = 0; i < k.nr; i++) {
		check(&k, k.symbols[i].start, size);
		check(&k, k.symbols[i].start - 1, size);
	}
	check(&k, 0, size);
	check(&k, UINT64_MAX, size);
	af_kernel_close(&k);
	return 0;
}
