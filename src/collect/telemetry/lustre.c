/*
 * Lustre clients, by the "stats" of their mounts:
 *
 *	read_bytes 12 samples [bytes] 4096 1048576 8388608
 *
 * Source: Lustre Operations Manual, "Monitoring Client Activity".
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "collect/telemetry/private.h"

enum { MOUNTS_MOST = 16, STATS_BYTES = 16384 };

/* Column 0 is how often; 3 the sum of what was moved. */
static const struct {
	const char *key, *name, *unit;
	uint32_t column;
} stats[] = {{"read_bytes", "read", "bytes", 3},
             {"write_bytes", "written", "bytes", 3},
             {"read_bytes", "reads", "", 0},
             {"write_bytes", "writes", "", 0},
             {"open", "opens", "", 0},
             {"close", "closes", "", 0},
             {"getattr", "attributes read", "", 0},
             {"fsync", "syncs", "", 0}};
enum { NR_STATS = sizeof stats / sizeof *stats };

struct lustre {
	int fd[MOUNTS_MOST];
	uint32_t nr;
};

static void mount_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                       const char *path, const char *name)
{
	struct lustre *l = s->own;
	char from[800], title[160], mount[64];
	(void)roots;

	if (l->nr == MOUNTS_MOST)
		return;
	snprintf(from, sizeof from, "%s/stats", path);
	int fd = af_open_regular(AT_FDCWD, from, 0);
	if (fd < 0)
		return;
	/* "scratch-ffff9c3a1c2d3000": the file system, and which mount it is. */
	snprintf(mount, sizeof mount, "%.*s", (int)strcspn(name, "-"), name);
	l->fd[l->nr++] = fd;
	for (int i = 0; i < NR_STATS; i++) {
		snprintf(title, sizeof title, "Lustre %s %s", mount, stats[i].name);
		telemetry_add(s, 0, AF_COUNTER_AMOUNT, 1, title, stats[i].unit, mount);
	}
}

static void lustre_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	char folder[300];

	s->own = af_xcalloc(1, sizeof(struct lustre));
	snprintf(folder, sizeof folder, "%s/fs/lustre/llite", roots->proc);
	telemetry_each(s, roots, folder, "", mount_take);
	if (!s->nr) {
		snprintf(folder, sizeof folder, "%s/kernel/debug/lustre/llite", roots->sys);
		telemetry_each(s, roots, folder, "", mount_take);
	}
	if (!s->nr)
		snprintf(s->why, sizeof s->why,
		         "neither %s/fs/lustre/llite nor %s has a mount (the latter is for root)",
		         roots->proc, folder);
}

/* An operation without a line was never done: it is 0. */
static void mount_read(struct telemetry_source *s, uint32_t mount)
{
	const struct lustre *l = s->own;
	char text[STATS_BYTES];

	if (!telemetry_text_read(l->fd[mount], text, sizeof text)) {
		telemetry_failed(s, "a mount of Lustre");
		return;
	}
	for (uint32_t i = 0; i < NR_STATS; i++) {
		const char *line = text;
		uint64_t numbers[4] = {0};
		while (line && (strncmp(line, stats[i].key, strlen(stats[i].key)) != 0 ||
		                line[strlen(stats[i].key)] != ' ')) {
			line = strchr(line, '\n');
			line += line != NULL;
		}
		if (line) {
			line += strlen(stats[i].key);
			telemetry_numbers(line, NULL, numbers, 1);
			line = strpbrk(line, "]\n");
			if (line && *line == ']')
				telemetry_numbers(line + 1, NULL, numbers + 1, 3);
		}
		telemetry_total(s, mount * NR_STATS + i, numbers[stats[i].column]);
	}
}

static void lustre_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	const struct lustre *l = s->own;
	(void)to;

	for (uint32_t i = 0; i < l->nr; i++)
		mount_read(s, i);
}

static void lustre_close(struct telemetry_source *s)
{
	struct lustre *l = s->own;

	for (uint32_t i = 0; l && i < l->nr; i++)
		close(l->fd[i]);
	free(l);
	s->own = NULL;
}

const struct telemetry_ops telemetry_lustre = {
    .name = "lustre",
    .summary = "bytes and operations of each Lustre mount",
    .find = lustre_find,
    .read = lustre_read,
    .close = lustre_close,
};
