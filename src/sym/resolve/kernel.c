#include "sym/resolve/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/scope.h"
#include "base/system/rights.h"

enum { KERNEL_TEXT_MAX = 256 << 20, KERNEL_READ = 1 << 20, KERNEL_REACH = 256 << 10 };

/* The size of a file in /proc is not known before it is read. */
static int kernel_read(struct af_buf *text, const char *path)
{
	scope_rights(AF_RIGHTS_NAMES);
	scope_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	scope_free char *part = af_xrealloc(NULL, KERNEL_READ);
	for (;;) {
		ssize_t n = read(fd, part, KERNEL_READ);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return 0;
		af_buf_add(text, part, (size_t)n);
		if (text->len > KERNEL_TEXT_MAX)
			return -EFBIG;
	}
}

/* The next word of a line, ended in place; NULL when there is none. */
static char *kernel_word(char **line)
{
	char *word = *line, *end;

	while (*word == ' ' || *word == '\t')
		word++;
	for (end = word; *end && *end != ' ' && *end != '\t'; end++)
		;
	if (end == word)
		return NULL;
	*line = end + (*end != 0);
	*end = 0;
	return word;
}

/* How bad a name is among several for one address: marks of sections and local names are worse. */
static uint8_t kernel_rank(const char *name, char type)
{
	uint8_t rank = type == 'T' ? 0 : 1;

	if (*name == '_' &&
	    (!strcmp(name, "_text") || !strcmp(name, "_stext") || !strncmp(name, "__pfx_", 6)))
		return UINT8_MAX;
	for (; *name == '_' && rank < 16; name++)
		rank += 2;
	return rank;
}

/* By address; the best name of each comes first. */
static int kernel_order(const void *a, const void *b)
{
	const struct af_kernel_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->code != y->code)
		return x->code ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* At most 16 hexadecimal digits; 0 for anything else. */
static uint64_t kernel_address(const char *digits)
{
	uint64_t value = 0;
	uint32_t nr = 0;

	for (; nr < 17 && digits[nr]; nr++) {
		int c = (unsigned char)digits[nr], letter = c | 32;
		int digit = c >= '0' && c <= '9'             ? c - '0'
		            : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
		                                             : -1;
		if (digit < 0)
			return 0;
		value = value << 4 | (uint64_t)digit;
	}
	return nr <= 16 ? value : 0;
}

/* Is @s at the address of the last symbol? Then the better of the two stays. */
static bool kernel_replace(struct af_kernel *k, const struct af_kernel_symbol *s)
{
	if (!k->nr || k->symbols[k->nr - 1].start != s->start)
		return false;
	if (kernel_order(s, &k->symbols[k->nr - 1]) < 0)
		k->symbols[k->nr - 1] = *s;
	return true;
}

/* A line is ADDRESS TYPE NAME [MODULE]. Other lines are ignored. */
static void kernel_line(struct af_kernel *k, char *line)
{
	char *address = kernel_word(&line), *type = kernel_word(&line);
	char *name = kernel_word(&line), *module = kernel_word(&line);
	uint64_t start = name ? kernel_address(address) : 0;

	if (!start)
		return;
	const struct af_kernel_symbol s = {
	    .start = start,
	    .name = name,
	    .module = module && *module == '[' ? module : "[kernel]",
	    .rank = kernel_rank(name, *type),
	    .code = strchr("tTwW", *type) != NULL,
	};
	if (!kernel_replace(k, &s)) {
		AF_GROW(k->symbols, k->nr, k->cap);
		k->symbols[k->nr++] = s;
	}
}

/* One symbol for each address, in order. The kernel's own come so; those of modules do not. */
static void kernel_thin(struct af_kernel *k)
{
	struct af_kernel_symbol *all = k->symbols, *merged;
	uint32_t sorted = 1, nr = 0;

	while (sorted < k->nr && all[sorted - 1].start < all[sorted].start)
		sorted++;
	if (sorted == k->nr)
		return;
	AF_SORT(all + sorted, k->nr - sorted, kernel_order);
	merged = af_xcalloc(k->nr, sizeof *merged);
	for (uint32_t a = 0, b = sorted; a < sorted || b < k->nr;) {
		bool first = b == k->nr || (a < sorted && kernel_order(&all[a], &all[b]) <= 0);
		const struct af_kernel_symbol *next = &all[first ? a++ : b++];
		if (!nr || merged[nr - 1].start != next->start)
			merged[nr++] = *next;
	}
	free(all);
	k->symbols = merged;
	k->nr = k->cap = nr;
}

void af_kernel_parse(struct af_kernel *k, char *text)
{
	*k = (struct af_kernel){.text = text};
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		kernel_line(k, line);
	}
	if (k->nr)
		kernel_thin(k);
}

int af_kernel_open(struct af_kernel *k, const char *path)
{
	struct af_buf text = {0};
	int rc = kernel_read(&text, path);

	if (!rc && text.len)
		af_kernel_parse(k, text.data);
	else
		*k = (struct af_kernel){.text = text.data};
	if (!rc && !k->nr)
		rc = text.len ? -EPERM : -ENODATA;
	if (rc)
		af_kernel_close(k);
	return rc;
}

void af_kernel_close(struct af_kernel *k)
{
	free(k->text);
	free(k->symbols);
	*k = (struct af_kernel){0};
}

const struct af_kernel_symbol *af_kernel_find(const struct af_kernel *k, uint64_t address)
{
	uint32_t low = 0, high = k->nr;

	/* The first symbol that starts after @address. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (k->symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct af_kernel_symbol *s = &k->symbols[low - 1];
	return s->code && address - s->start < KERNEL_REACH ? s : NULL;
}
