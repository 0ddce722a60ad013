/*
 * A perf map of hostile bytes. Checked on the way: every name ends inside the map, and what is
 * found at an address begins at or below it. The map is a file, because af_jit_open() reads one.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/jit/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char map_path[64];
static int map_fd = -1;

static void map_remove(void)
{
	unlink(map_path);
}

static void map_write(const uint8_t *data, size_t size)
{
	if (map_fd < 0) {
		strcpy(map_path, "/tmp/aflame-fuzz-jit-XXXXXX");
		map_fd = mkstemp(map_path);
		atexit(map_remove);
	}
	if (map_fd < 0 || ftruncate(map_fd, 0) || pwrite(map_fd, data, size, 0) != (ssize_t)size) {
		perror(map_path);
		exit(2);
	}
}

static void check_address(const struct af_jit *j, uint64_t address)
{
	const struct af_jit_entry *e = af_jit_find(j, address);

	if (e && (e->start > address || e < j->entries || e >= j->entries + j->nr))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct af_jit_trust trust = {.owners = {geteuid()}, .nr_owners = 1};
	struct af_jit j;

	map_write(data, size);
	int fd = af_jit_open_path(map_path);
	if (fd < 0 || af_jit_open(&j, fd, &trust))
		abort();
	close(fd);
	for (uint32_t i = 0; i < j.nr; i++) {
		const struct af_jit_entry *e = &j.entries[i];
		if (!*e->name || e->name < j.text || e->name + strlen(e->name) > j.text + size)
			abort();
		check_address(&j, e->start);
		check_address(&j, e->start - 1);
		check_address(&j, e->start + 1);
	}
	check_address(&j, 0);
	check_address(&j, UINT64_MAX);
	af_jit_close(&j);
	return 0;
}
