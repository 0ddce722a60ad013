/*
 * A Kokkos tool of the tests' own: it counts calls, and writes "KIND NAME COUNT" lines to the file
 * that $KOKKOS_COUNTS names when the program ends. Its numbers of kernels are its own: ends that
 * come with another number are counted as "end strange".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOOL __attribute__((visibility("default")))

enum { LINES = 256, FIRST = 1000 };

static struct {
	char text[200];
	unsigned count;
} lines[LINES];
static uint64_t begun[LINES];
static unsigned nr_begun;

static void count(const char *kind, const char *name)
{
	char text[200];

	snprintf(text, sizeof text, "%s %s", kind, name);
	for (int i = 0; i < LINES; i++) {
		if (!lines[i].count)
			strcpy(lines[i].text, text);
		if (!strcmp(lines[i].text, text)) {
			lines[i].count++;
			return;
		}
	}
}

TOOL void kokkosp_init_library(int at, uint64_t version, uint32_t nr, void *devices);
void kokkosp_init_library(int at, uint64_t version, uint32_t nr, void *devices)
{
	(void)at, (void)version, (void)nr, (void)devices;
	count("init", "library");
}

TOOL void kokkosp_finalize_library(void);
void kokkosp_finalize_library(void)
{
	const char *path = getenv("KOKKOS_COUNTS");
	FILE *to = path ? fopen(path, "w") : NULL;

	for (int i = 0; to && i < LINES && lines[i].count; i++)
		fprintf(to, "%s %u\n", lines[i].text, lines[i].count);
	if (to)
		fclose(to);
}

static void begin(const char *kind, const char *name, uint64_t *id)
{
	count(kind, name);
	*id = FIRST + nr_begun;
	if (nr_begun < LINES)
		begun[nr_begun] = *id;
	nr_begun++;
}

static void end(uint64_t id)
{
	for (unsigned i = 0; i < LINES && i < nr_begun; i++)
		if (begun[i] && begun[i] == id) {
			begun[i] = 0;
			return;
		}
	count("end", "strange");
}

#define KERNEL(kind)                                                                               \
	TOOL void kokkosp_begin_##kind(const char *name, uint32_t device, uint64_t *id);           \
	void kokkosp_begin_##kind(const char *name, uint32_t device, uint64_t *id)                 \
	{                                                                                          \
		(void)device;                                                                      \
		begin("kernel", name, id);                                                         \
	}                                                                                          \
	TOOL void kokkosp_end_##kind(uint64_t id);                                                 \
	void kokkosp_end_##kind(uint64_t id)                                                       \
	{                                                                                          \
		end(id);                                                                           \
	}
KERNEL(parallel_for)
KERNEL(parallel_reduce)
KERNEL(parallel_scan)
KERNEL(fence)

TOOL void kokkosp_push_profile_region(const char *name);
void kokkosp_push_profile_region(const char *name)
{
	count("region", name);
}

TOOL void kokkosp_profile_event(const char *name);
void kokkosp_profile_event(const char *name)
{
	count("event", name);
}

struct space {
	char name[64];
};

TOOL void kokkosp_allocate_data(struct space s, const char *name, const void *at, uint64_t bytes);
void kokkosp_allocate_data(struct space s, const char *name, const void *at, uint64_t bytes)
{
	char text[200];

	(void)at;
	snprintf(text, sizeof text, "%s (%s), bytes = %llu", name, s.name,
	         (unsigned long long)bytes);
	count("allocate", text);
}

TOOL void kokkosp_begin_deep_copy(struct space to, const char *to_name, const void *to_at,
                                  struct space from, const char *from_name, const void *from_at,
                                  uint64_t bytes);
void kokkosp_begin_deep_copy(struct space to, const char *to_name, const void *to_at,
                             struct space from, const char *from_name, const void *from_at,
                             uint64_t bytes)
{
	char text[200];

	(void)to_at, (void)from_at;
	snprintf(text, sizeof text, "deep_copy %s (%s) = %s (%s), bytes = %llu", to_name, to.name,
	         from_name, from.name, (unsigned long long)bytes);
	count("kernel", text);
}
