/*
 * A perf.data as `perf record -F 20000 -g` writes it, of a made-up run of a real ELF file:
 *
 *	gen_perf MEGABYTES ELF >perf.data
 *
 * Call chains of 15 to 36 frames grow as a tree, a third of them different, at 20,000 places
 * of the file's code, which is mapped with its build-id. Every tenth is in the kernel at its end.
 * The same bytes each time.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE UINT64_C(0x555555000000)
#define KERNEL UINT64_C(0xffffffff81200000)
#define SAMPLE_TYPE (1 | 2 | 4 | 32 | 256) /* IP, TID, TIME, CALLCHAIN, PERIOD */

enum { PLACES = 20000, HEADER = 104, ATTR = 128, DEPTH_MIN = 15, DEPTH_MAX = 36, PID = 4711 };

struct elf {
	const uint8_t *data;
	size_t size;
	uint64_t offset, length; /* of code in the file */
	uint8_t build_id[20];
	uint32_t build_id_len;
};

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint64_t random_next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/*
 * Which child a function calls: mostly the first one. Where a stack ends there is more to choose
 * from, so that one stack has some five frames that no other has.
 */
static uint64_t child(uint32_t depth, uint32_t left)
{
	uint64_t r = random_next() % 1000;

	if (depth >= DEPTH_MIN && left <= 6)
		return r < 850 ? 0 : r % 40;
	return depth % 3 || r < 700 ? 0 : r % 4;
}

static void notes_read(struct elf *e, const Elf64_Phdr *p)
{
	for (uint64_t at = p->p_offset; at + 12 <= p->p_offset + p->p_filesz;) {
		Elf64_Nhdr n;
		memcpy(&n, e->data + at, sizeof n);
		uint64_t id = at + sizeof n + ((n.n_namesz + 3u) & ~3u);
		if (n.n_type == NT_GNU_BUILD_ID && n.n_descsz <= sizeof e->build_id) {
			e->build_id_len = n.n_descsz;
			memcpy(e->build_id, e->data + id, n.n_descsz);
			return;
		}
		at = id + ((n.n_descsz + 3u) & ~3u);
	}
}

static void elf_read(struct elf *e, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(1);
	}
	e->size = (size_t)st.st_size;
	e->data = mmap(NULL, e->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	const Elf64_Ehdr *h = (const void *)e->data;
	const Elf64_Phdr *p = (const void *)(e->data + h->e_phoff);
	for (int i = 0; i < h->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X) {
			e->offset = p[i].p_offset;
			e->length = p[i].p_filesz;
		} else if (p[i].p_type == PT_NOTE) {
			notes_read(e, &p[i]);
		}
	}
}

static void put(const void *data, size_t size)
{
	if (fwrite(data, 1, size, stdout) != size)
		exit(1);
}

static void put_head(uint32_t type, uint16_t misc, size_t body)
{
	struct {
		uint32_t type;
		uint16_t misc, size;
	} h = {type, misc, (uint16_t)(body + 8)};

	put(&h, sizeof h);
}

/* Every record ends in the pid, tid and time of its sample (sample_id_all). */
static void put_id(uint64_t time_ns)
{
	const uint32_t ids[2] = {PID, PID};

	put(ids, sizeof ids);
	put(&time_ns, sizeof time_ns);
}

static void put_processes(const struct elf *e, const char *path)
{
	char name[4096] = "deep";
	const uint32_t ids[2] = {PID, PID}, tail[2] = {5 /* r-x */, 2 /* private */};
	const uint64_t where[3] = {BASE, (e->length + 4095) & ~4095ull, e->offset & ~4095ull};
	uint8_t id[24] = {(uint8_t)e->build_id_len};

	put_head(3, 1 << 13, 8 + 16 + 16);
	put(ids, sizeof ids);
	put(name, 16);
	put_id(0);
	memset(name, 0, sizeof name);
	snprintf(name, sizeof name, "%s", path);
	size_t len = (strlen(name) + 8) & ~7ul;
	memcpy(id + 4, e->build_id, e->build_id_len);
	put_head(10, 1 << 14 | 2, 8 + 24 + 24 + 8 + len + 16);
	put(ids, sizeof ids);
	put(where, sizeof where);
	put(id, sizeof id);
	put(tail, sizeof tail);
	put(name, len);
	put_id(1);
}

static size_t put_sample(const uint64_t *places, uint64_t time_ns)
{
	uint64_t words[DEPTH_MAX + 8], h = 1, path[DEPTH_MAX];
	uint32_t depth = DEPTH_MIN, nr = 0;
	bool kernel = random_next() % 10 == 0;

	for (uint32_t i = 0; i < depth; i++) {
		h = mix(h * 64 + child(i, depth - i));
		path[i] = places[h % PLACES];
		/* How deep it goes is a matter of the path, as in a program. */
		if (i == DEPTH_MIN - 1)
			depth = DEPTH_MIN + (uint32_t)(mix(h) % (DEPTH_MAX - DEPTH_MIN));
	}
	words[0] = kernel ? KERNEL + h % 64 * 16 : path[depth - 1];
	words[1] = (uint64_t)PID << 32 | PID;
	words[2] = time_ns;
	words[3] = 50000;
	uint64_t *chain = &words[5];
	if (kernel) {
		chain[nr++] = (uint64_t)-128;
		chain[nr++] = words[0];
	}
	chain[nr++] = (uint64_t)-512;
	for (uint32_t i = depth; i--;)
		chain[nr++] = path[i];
	words[4] = nr;
	put_head(9, kernel ? 1 : 2, (5 + nr) * 8);
	put(words, (5 + nr) * 8);
	return 8 + (5 + nr) * 8;
}

int main(int argc, char **argv)
{
	struct elf e = {0};
	static uint64_t places[PLACES];
	uint64_t head[HEADER / 8] = {0}, attr[(ATTR + 16) / 8] = {0};
	uint64_t size = argc == 3 ? strtoull(argv[1], NULL, 10) * 1000000 : 0, done = 0;

	if (!size) {
		fputs("gen_perf MEGABYTES ELF\n", stderr);
		return 2;
	}
	elf_read(&e, argv[2]);
	for (int i = 0; i < PLACES; i++)
		places[i] = BASE + (e.offset & 4095) + random_next() % (e.length - 64);
	memcpy(head, "PERFILE2", 8);
	head[1] = HEADER;
	head[2] = ATTR + 16;
	head[3] = HEADER;
	head[4] = ATTR + 16;
	head[5] = HEADER + ATTR + 16;
	put(head, sizeof head);
	attr[0] = (uint64_t)ATTR << 32 | 1; /* software; config 0 is cpu-clock */
	attr[2] = 20000;
	attr[3] = SAMPLE_TYPE;
	attr[5] = 1 << 10 | 1 << 18; /* by rate, ids behind all records */
	put(attr, sizeof attr);
	put_processes(&e, argv[2]);
	for (uint64_t i = 0; done < size; i++)
		done += put_sample(places, 1000000000 + i * 50000);
	/* How much data there is stands in the header. */
	long end = ftell(stdout);
	head[6] = (uint64_t)end - head[5];
	if (end < 0 || fseek(stdout, 0, SEEK_SET)) {
		fputs("gen_perf: standard output is to be a file\n", stderr);
		return 1;
	}
	put(head, sizeof head);
	return fflush(stdout) ? 1 : 0;
}
