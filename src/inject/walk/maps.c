#include "inject/walk/maps.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "inject/arch/arch.h"

int af_maps_open(struct af_maps *maps)
{
	maps->at = maps->len = 0;
	maps->ended = false;
	maps->fd = (int)af_arch_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/maps",
	                                O_RDONLY | O_CLOEXEC, 0);
	return maps->fd < 0 ? maps->fd : 0;
}

void af_maps_close(struct af_maps *maps)
{
	af_arch_syscall(SYS_close, maps->fd, 0, 0, 0);
}

/* The next character without taking it; 0 at the end. */
static char maps_peek(struct af_maps *maps)
{
	if (maps->at == maps->len && !maps->ended) {
		long n = af_arch_syscall(SYS_read, maps->fd, (long)maps->buf, sizeof maps->buf, 0);
		maps->at = 0;
		maps->len = n > 0 ? (unsigned)n : 0;
		maps->ended = n <= 0;
	}
	return maps->ended ? 0 : maps->buf[maps->at];
}

static char maps_take(struct af_maps *maps)
{
	char c = maps_peek(maps);

	if (c)
		maps->at++;
	return c;
}

static uint64_t maps_number(struct af_maps *maps, unsigned base)
{
	uint64_t v = 0;

	for (;; maps_take(maps)) {
		char c = maps_peek(maps);
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
		                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
		                                        : 99;
		if (digit >= base)
			return v;
		v = v * base + digit;
	}
}

static void maps_blanks(struct af_maps *maps)
{
	while (maps_peek(maps) == ' ')
		maps_take(maps);
}

bool af_maps_next(struct af_maps *maps, struct af_maps_entry *entry, uint64_t wanted, char *name,
                  size_t size)
{
	size_t len = 0;

	if (!maps_peek(maps))
		return false;
	/* start-end perms offset major:minor inode name */
	entry->start = maps_number(maps, 16);
	maps_take(maps);
	entry->end = maps_number(maps, 16);
	maps_blanks(maps);
	entry->executable = false;
	while (maps_peek(maps) && maps_peek(maps) != ' ')
		entry->executable |= maps_take(maps) == 'x';
	maps_blanks(maps);
	entry->offset = maps_number(maps, 16);
	maps_blanks(maps);
	entry->device = maps_number(maps, 16) << 32;
	maps_take(maps);
	entry->device |= maps_number(maps, 16);
	maps_blanks(maps);
	entry->inode = maps_number(maps, 10);
	maps_blanks(maps);

	bool keep = wanted - entry->start < entry->end - entry->start;
	for (char c; (c = maps_take(maps)) && c != '\n';)
		if (keep && len + 1 < size)
			name[len++] = c;
	if (keep && size)
		name[len] = 0;
	return true;
}
