#include "sym/jit/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/system/fs.h"

enum {
	JITDUMP_MAGIC = 0x4a695444,
	JITDUMP_ARCH_TIMESTAMP = 1, /* flag: stamps are ticks of the processor */
	JITDUMP_ELF_HEADER = 64,
	JITDUMP_CODES_MAX = 1 << 20,  /* and tables, some 100 bytes each */
	JITDUMP_KEPT_MAX = 128 << 20, /* bytes of names and lines */
	JITDUMP_VISITS = 1 << 14,     /* entries that a search looks at */
	JITDUMP_LINES_MAX = 1 << 16,  /* entries of a table that are looked at */
	JITDUMP_NAME_MAX = 64 << 10,
};

#define JITDUMP_FILE_MAX (INT64_C(2) << 30)

/*
 * Others are passed by: JIT_CODE_CLOSE (3) says nothing of code, and JIT_CODE_UNWINDING_INFO (4) is
 * for copies of stacks, while those in a trace were walked when they were there.
 */
enum { JIT_CODE_LOAD = 0, JIT_CODE_MOVE = 1, JIT_CODE_DEBUG_INFO = 2 };

struct jitdump_header {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t timestamp, flags;
};

struct jitdump_prefix {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct jitdump_load {
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};

struct jitdump_move {
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

struct jitdump_lines {
	uint64_t code_addr, nr_entry;
};

/* An entry of a line table, before the name of its file. */
struct jitdump_line {
	uint64_t address;
	uint32_t line, discriminator;
} __attribute__((packed));

/* While reading. */
struct jitdump_reader {
	struct af_jitdump *d;
	struct af_map by_index;   /* of a code → its last entry + 1 */
	struct af_map by_address; /* → line table + 1, for the next code loaded there */
	uint64_t least_offset;    /* of the first line of a table from its code */
};

/* Is there room for one more, with @size bytes of text? */
static bool jitdump_has_room(struct af_jitdump *d, uint32_t nr, size_t size)
{
	if (nr < JITDUMP_CODES_MAX && size <= JITDUMP_KEPT_MAX - d->kept) {
		d->kept += size;
		return true;
	}
	d->nr_beyond++;
	return false;
}

static bool jitdump_append(struct af_jitdump *d, const struct af_jitdump_code *code)
{
	if (code->end <= code->start) {
		d->nr_skipped++;
		return false;
	}
	AF_GROW(d->codes, d->nr, d->cap);
	d->codes[d->nr] = *code;
	d->codes[d->nr].order = d->nr;
	d->nr++;
	return true;
}

static void jitdump_add(struct jitdump_reader *r, const struct af_jitdump_code *code)
{
	if (jitdump_append(r->d, code))
		*af_map_at(&r->by_index, code->index, NULL) = r->d->nr;
}

bool af_jitdump_add(struct af_jitdump *d, const struct af_jitdump_code *code)
{
	struct af_jitdump_code own = *code;
	size_t len = strnlen(code->name, JITDUMP_NAME_MAX);

	if (!jitdump_has_room(d, d->nr, len + 1))
		return false;
	own.name = af_arena_strdup(&d->arena, code->name, len);
	return jitdump_append(d, &own);
}

static void jitdump_read_load(struct jitdump_reader *r, uint64_t time_ns, const uint8_t *body,
                              size_t size)
{
	struct jitdump_load load;

	if (size < sizeof load) {
		r->d->nr_skipped++;
		return;
	}
	memcpy(&load, body, sizeof load);
	const char *name = (const char *)body + sizeof load;
	size_t left = size - sizeof load;
	size_t len = strnlen(name, left < JITDUMP_NAME_MAX ? left : JITDUMP_NAME_MAX);
	if (len == left || load.code_size > left - len - 1) {
		r->d->nr_skipped++;
		return;
	}
	if (!jitdump_has_room(r->d, r->d->nr, len + 1))
		return;
	uint64_t *lines = af_map_get(&r->by_address, load.code_addr);
	jitdump_add(r, &(struct af_jitdump_code){
			   .start = load.code_addr,
			   .end = load.code_addr + load.code_size,
			   .from_ns = time_ns,
			   .till_ns = UINT64_MAX,
			   .index = load.code_index,
			   .loaded = load.code_addr,
			   .lines = lines ? (uint32_t)*lines : 0,
			   .name = af_arena_strdup(&r->d->arena, name, len),
		       });
	if (lines)
		*lines = 0;
}

static void jitdump_read_move(struct jitdump_reader *r, uint64_t time_ns, const uint8_t *body,
                              size_t size)
{
	struct jitdump_move move = {0};
	uint64_t *last = NULL;

	if (size >= sizeof move) {
		memcpy(&move, body, sizeof move);
		last = af_map_get(&r->by_index, move.code_index);
	}
	if (!last || r->d->codes[*last - 1].start != move.old_code_addr) {
		r->d->nr_skipped++;
		return;
	}
	if (!jitdump_has_room(r->d, r->d->nr, 0))
		return;
	struct af_jitdump_code *old = &r->d->codes[*last - 1], moved = *old;
	/* Its size is what was loaded: that many bytes were in the file. */
	moved.start = move.new_code_addr;
	moved.end = moved.start + (old->end - old->start);
	moved.from_ns = time_ns;
	old->till_ns = time_ns;
	jitdump_add(r, &moved);
}

static void jitdump_read_lines(struct jitdump_reader *r, const uint8_t *body, size_t size)
{
	struct jitdump_lines lines;
	struct jitdump_line first;
	struct af_jitdump *d = r->d;

	if (size < sizeof lines + sizeof first) {
		d->nr_skipped++;
		return;
	}
	if (!jitdump_has_room(d, d->nr_tables, size))
		return;
	memcpy(&lines, body, sizeof lines);
	memcpy(&first, body + sizeof lines, sizeof first);
	size -= sizeof lines;
	uint8_t *copy = af_arena_alloc(&d->arena, size);
	memcpy(copy, body + sizeof lines, size);
	AF_GROW(d->tables, d->nr_tables, d->cap_tables);
	d->tables[d->nr_tables++] =
	    (struct af_jitdump_table){lines.code_addr, lines.nr_entry, copy, size};
	*af_map_at(&r->by_address, lines.code_addr, NULL) = d->nr_tables;
	uint64_t offset = first.address - lines.code_addr;
	r->least_offset = offset < r->least_offset ? offset : r->least_offset;
}

static void jitdump_read_records(struct jitdump_reader *r, const uint8_t *p, size_t left)
{
	struct jitdump_prefix prefix;

	while (left >= sizeof prefix) {
		memcpy(&prefix, p, sizeof prefix);
		if (prefix.total_size < sizeof prefix || prefix.total_size > left)
			return;
		const uint8_t *body = p + sizeof prefix;
		size_t size = prefix.total_size - sizeof prefix;

		if (prefix.id == JIT_CODE_LOAD)
			jitdump_read_load(r, prefix.timestamp, body, size);
		else if (prefix.id == JIT_CODE_MOVE)
			jitdump_read_move(r, prefix.timestamp, body, size);
		else if (prefix.id == JIT_CODE_DEBUG_INFO)
			jitdump_read_lines(r, body, size);
		p += prefix.total_size;
		left -= prefix.total_size;
	}
}

static int jitdump_order(const void *a, const void *b)
{
	const struct af_jitdump_code *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/*
 * The sorted array is a search tree, its middle the root; each root knows how far what is below it
 * reaches (Cormen et al., Introduction to Algorithms, "Interval trees"), when that was, and which
 * of it is the last in the file.
 */
static const struct af_jitdump_code *jitdump_reach(struct af_jitdump *d, uint32_t low,
                                                   uint32_t high)
{
	if (low == high)
		return NULL;
	uint32_t middle = low + (high - low) / 2;
	struct af_jitdump_code *c = &d->codes[middle];
	const struct af_jitdump_code *sides[] = {jitdump_reach(d, low, middle),
	                                         jitdump_reach(d, middle + 1, high)};

	c->below = c->end;
	c->earliest = c->from_ns;
	c->latest = c->till_ns;
	c->newest = c->order;
	for (int i = 0; i < 2; i++) {
		const struct af_jitdump_code *s = sides[i];
		if (!s)
			continue;
		c->below = s->below > c->below ? s->below : c->below;
		c->earliest = s->earliest < c->earliest ? s->earliest : c->earliest;
		c->latest = s->latest > c->latest ? s->latest : c->latest;
		c->newest = s->newest > c->newest ? s->newest : c->newest;
	}
	return c;
}

void af_jitdump_build(struct af_jitdump *d)
{
	AF_SORT(d->codes, d->nr, jitdump_order);
	jitdump_reach(d, 0, d->nr);
}

static int jitdump_read(struct af_jitdump *d, const struct af_file *file, uint32_t pid)
{
	struct jitdump_reader r = {.d = d, .least_offset = UINT64_MAX};
	struct jitdump_header h;

	if (file->size < sizeof h)
		return -ENOEXEC;
	memcpy(&h, file->data, sizeof h);
	if (h.magic != JITDUMP_MAGIC || h.version != 1 || h.pid != pid || h.total_size < sizeof h ||
	    h.total_size > file->size)
		return -ENOEXEC;
	d->timed = !(h.flags & JITDUMP_ARCH_TIMESTAMP);
	jitdump_read_records(&r, file->data + h.total_size, file->size - h.total_size);
	af_map_free(&r.by_index);
	af_map_free(&r.by_address);
	/* V8 counts lines from where `perf inject` will put the code in the file it makes. */
	d->lines_shift = d->nr_tables && r.least_offset >= JITDUMP_ELF_HEADER;
	af_jitdump_build(d);
	return 0;
}

int af_jitdump_open(struct af_jitdump *d, int fd, uint32_t pid, const struct af_jit_trust *trust)
{
	struct af_file file;
	struct stat st;

	*d = (struct af_jitdump){0};
	if (fstat(fd, &st))
		return -errno;
	int rc = af_jit_check(&st, trust);
	if (!rc && st.st_size > JITDUMP_FILE_MAX)
		rc = -EFBIG;
	if (!rc)
		rc = af_file_map_fd(&file, fd);
	if (rc)
		return rc;
	rc = jitdump_read(d, &file, pid);
	af_file_unmap(&file);
	if (rc)
		af_jitdump_close(d);
	return rc;
}

void af_jitdump_close(struct af_jitdump *d)
{
	free(d->codes);
	free(d->tables);
	af_arena_free(&d->arena);
	*d = (struct af_jitdump){0};
}

struct jitdump_search {
	const struct af_jitdump *d;
	uint64_t address, time_ns;
	const struct af_jitdump_code *best; /* the last in the file of those that were there */
	uint32_t nr_visited;
};

/*
 * The greatest start first: what was loaded or moved to one address again and again lies there in
 * the order of the file, so that the last is found at once and makes all before it needless.
 */
static void jitdump_search(struct jitdump_search *s, uint32_t low, uint32_t high)
{
	if (low == high || s->nr_visited == JITDUMP_VISITS)
		return;
	uint32_t middle = low + (high - low) / 2;
	const struct af_jitdump_code *c = &s->d->codes[middle];

	s->nr_visited++;
	if (c->below <= s->address || s->time_ns < c->earliest || s->time_ns >= c->latest ||
	    (s->best && c->newest < s->best->order))
		return;
	if (c->start <= s->address) {
		jitdump_search(s, middle + 1, high);
		if (s->address < c->end && c->from_ns <= s->time_ns && s->time_ns < c->till_ns &&
		    (!s->best || c->order > s->best->order))
			s->best = c;
	}
	jitdump_search(s, low, middle);
}

/* While the times of an address are collected. */
struct jitdump_times {
	const struct af_jitdump *d;
	uint64_t address, after_ns;
	uint64_t *times;
	uint32_t nr, most, nr_visited;
};

static void jitdump_time(struct jitdump_times *t, uint64_t time_ns)
{
	if (time_ns > t->after_ns && time_ns != UINT64_MAX && t->nr < t->most)
		t->times[t->nr++] = time_ns;
}

static void jitdump_collect(struct jitdump_times *t, uint32_t low, uint32_t high)
{
	if (low == high || t->nr == t->most || t->nr_visited++ == JITDUMP_VISITS)
		return;
	uint32_t middle = low + (high - low) / 2;
	const struct af_jitdump_code *c = &t->d->codes[middle];

	if (c->below <= t->address || c->latest <= t->after_ns)
		return;
	jitdump_collect(t, low, middle);
	if (c->start > t->address)
		return;
	if (t->address < c->end) {
		jitdump_time(t, c->from_ns);
		jitdump_time(t, c->till_ns);
	}
	jitdump_collect(t, middle + 1, high);
}

uint32_t af_jitdump_times(const struct af_jitdump *d, uint64_t address, uint64_t after_ns,
                          uint64_t *times, uint32_t most)
{
	struct jitdump_times t = {d, address, after_ns, times, 0, most, 0};

	if (d->timed)
		jitdump_collect(&t, 0, d->nr);
	return t.nr;
}

/* Bytes that continue a character of UTF-8 which begins with @first (RFC 3629); -1: none does. */
static int jitdump_continued(uint8_t first)
{
	return first < 0x80                    ? 0
	       : first >= 0xc2 && first < 0xe0 ? 1
	       : first >= 0xe0 && first < 0xf0 ? 2
	       : first >= 0xf0 && first < 0xf5 ? 3
	                                       : -1;
}

/* V8 (node 20) writes what lies in memory in place of many a file's name. */
static bool jitdump_is_text(const char *s)
{
	for (const uint8_t *p = (const uint8_t *)s; *p; p++) {
		int more = jitdump_continued(*p);

		if (more < 0 || *p < 0x20 || *p == 0x7f)
			return false;
		while (more--)
			if ((*++p & 0xc0) != 0x80)
				return false;
	}
	return *s;
}

/* V8's names of functions have the file too: "JS:*work /app/main.js:12:5". NULL: not this one. */
static const char *jitdump_file_in(struct af_jitdump *d, const char *name)
{
	const char *file = strrchr(name, ' ');
	size_t len = file ? strlen(++file) : 0;

	for (int part = 0; part < 2; part++) {
		size_t digits = 0;

		while (digits < len && file[len - 1 - digits] >= '0' &&
		       file[len - 1 - digits] <= '9')
			digits++;
		if (!digits || digits + 1 >= len || file[len - 1 - digits] != ':')
			return NULL;
		len -= digits + 1;
	}
	const char *copy = af_arena_strdup(&d->arena, file, len);
	return jitdump_is_text(copy) ? copy : NULL;
}

/* The entry with the greatest address up to @address has the line. */
static void jitdump_line(const struct af_jitdump *d, const struct af_jitdump_table *t,
                         uint64_t address, struct af_jitdump_answer *answer)
{
	const uint8_t *p = t->entries, *end = p + t->size;
	const char *file = NULL;
	uint64_t best = 0;

	for (uint64_t i = 0; i < t->nr && i < JITDUMP_LINES_MAX; i++) {
		struct jitdump_line line;

		if ((size_t)(end - p) < sizeof line)
			return;
		memcpy(&line, p, sizeof line);
		p += sizeof line;
		const uint8_t *nul = memchr(p, 0, (size_t)(end - p));
		if (!nul)
			return;
		/* A name of the one byte 0xff is the name before it. */
		if (nul != p + 1 || *p != 0xff)
			file = (const char *)p;
		p = nul + 1;
		if (d->lines_shift)
			line.address -= JITDUMP_ELF_HEADER;
		if (line.address > address || line.address < best)
			continue;
		best = line.address;
		answer->file = file;
		answer->line = line.line;
	}
}

bool af_jitdump_find(struct af_jitdump *d, uint64_t address, uint64_t time_ns,
                     struct af_jitdump_answer *answer)
{
	/* An entry without an end ends at UINT64_MAX, so the last moment is the one before. */
	if (!d->timed || time_ns == UINT64_MAX)
		time_ns = UINT64_MAX - 1;
	struct jitdump_search s = {.d = d, .address = address, .time_ns = time_ns};

	jitdump_search(&s, 0, d->nr);
	/* No name is better than that of something else. */
	if (s.nr_visited == JITDUMP_VISITS) {
		d->nr_given_up++;
		return false;
	}
	const struct af_jitdump_code *c = s.best;
	if (!c)
		return false;
	*answer = (struct af_jitdump_answer){.name = c->name, .start = c->start, .image = c->image};
	if (c->lines)
		jitdump_line(d, &d->tables[c->lines - 1], address - c->start + c->loaded, answer);
	const char *own = answer->file ? jitdump_file_in(d, c->name) : NULL;
	/* Lines of inlined functions are of other files, which V8 gives as paths and URLs. */
	if (own && *answer->file != '/' && !strchr(answer->file, ':'))
		answer->file = own;
	if (answer->file && !jitdump_is_text(answer->file))
		answer->file = own;
	if (!answer->file)
		answer->line = 0;
	return true;
}
