/* Disks and network interfaces: one line of a text each, whose columns are totals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/telemetry/private.h"

enum { LINES_MOST = 64, COLUMNS_MOST = 17, TEXT_BYTES = 64 << 10 };

/* A column of every line, and the counter that it is. */
struct column {
	uint32_t at;
	uint64_t times, per;
	const char *name, *unit;
};

struct lines {
	const struct column *columns;
	uint32_t nr_columns, nr;
	int fd;
	char names[LINES_MOST]
		  [40]; /* of the devices that are read; their counters follow in order */
	struct telemetry_pace pace;
	char text[TEXT_BYTES];
};

static struct lines *lines_open(struct telemetry_source *s, const struct telemetry_roots *roots,
                                const char *name, const struct column *columns, uint32_t nr)
{
	struct lines *l = s->own = af_xcalloc(1, sizeof *l);

	l->columns = columns;
	l->nr_columns = nr;
	l->fd = telemetry_text_open(roots, name);
	if (!telemetry_text_read(l->fd, l->text, sizeof l->text))
		snprintf(s->why, sizeof s->why, "%s/%s cannot be read", roots->proc, name);
	return l;
}

static void line_add(struct telemetry_source *s, const char *name, size_t len)
{
	struct lines *l = s->own;
	char title[96];

	if (l->nr == LINES_MOST || !len || len >= sizeof *l->names)
		return;
	snprintf(l->names[l->nr], sizeof *l->names, "%.*s", (int)len, name);
	for (uint32_t i = 0; i < l->nr_columns; i++) {
		snprintf(title, sizeof title, "%s %s", l->names[l->nr], l->columns[i].name);
		telemetry_add(s, 0, AF_COUNTER_AMOUNT, l->columns[i].per, title, l->columns[i].unit,
		              l->names[l->nr]);
	}
	l->nr++;
}

static void lines_close(struct telemetry_source *s)
{
	struct lines *l = s->own;

	if (l && l->fd >= 0)
		close(l->fd);
	free(l);
	s->own = NULL;
}

static void line_read(struct telemetry_source *s, const char *name, size_t len, const char *columns)
{
	struct lines *l = s->own;
	uint64_t numbers[COLUMNS_MOST];
	uint32_t at = 0;

	while (at < l->nr && (strlen(l->names[at]) != len || memcmp(l->names[at], name, len) != 0))
		at++;
	if (at == l->nr)
		return;
	uint32_t nr = telemetry_numbers(columns, NULL, numbers, COLUMNS_MOST);
	for (uint32_t i = 0; i < l->nr_columns; i++)
		if (l->columns[i].at < nr)
			telemetry_total(s, at * l->nr_columns + i,
			                numbers[l->columns[i].at] * l->columns[i].times);
}

/* Each line's device and columns to @take. */
static void lines_each(struct telemetry_source *s, bool of_disks,
                       void (*take)(struct telemetry_source *s, const char *name, size_t len,
                                    const char *columns))
{
	struct lines *l = s->own;

	for (const char *line = l->text, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		/* "   8       0 sda 14 …", "  eth0: 42 …" */
		const char *name = line + strspn(line, " ");
		for (int skip = 0; of_disks && skip < 2; skip++) {
			name += strcspn(name, " \n");
			name += strspn(name, " ");
		}
		size_t len = strcspn(name, of_disks ? " \n" : ":\n");
		if (name + len >= next || name[len] == '\n' || !name[len])
			continue;
		take(s, name, len, name + len + 1);
	}
}

static void lines_read(struct telemetry_source *s, const struct telemetry_reading *to,
                       bool of_disks, const char *name)
{
	struct lines *l = s->own;

	if (!telemetry_is_due(s, &l->pace, to->time_ns, to->again))
		return;
	uint64_t begin_ns = af_now_ns();
	if (!telemetry_text_read(l->fd, l->text, sizeof l->text))
		telemetry_failed(s, name);
	lines_each(s, of_disks, line_read);
	telemetry_asked(&l->pace, begin_ns, TELEMETRY_TEXT_APART);
}

/* Columns of /proc/diskstats behind the name: Documentation/admin-guide/iostats.rst. */
static const struct column disk_columns[] = {
    {2, 512, 1, "read", "bytes"}, {6, 512, 1, "written", "bytes"}, {0, 1, 1, "reads", ""},
    {4, 1, 1, "writes", ""},      {9, 1, 1000, "busy", "s"},
};

static const struct telemetry_roots *disk_roots;

/* Whole disks: partitions are parts of them, and what was never read or written is none. */
static void disk_add(struct telemetry_source *s, const char *name, size_t len, const char *columns)
{
	char path[300];
	uint64_t numbers[5];

	snprintf(path, sizeof path, "%s/block/%.*s", disk_roots->sys, (int)(len < 64 ? len : 64),
	         name);
	if (access(path, F_OK) != 0 || telemetry_numbers(columns, NULL, numbers, 5) < 5 ||
	    !(numbers[0] || numbers[4]))
		return;
	line_add(s, name, len);
}

static void disk_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	lines_open(s, roots, "diskstats", disk_columns, sizeof disk_columns / sizeof *disk_columns);
	disk_roots = roots;
	lines_each(s, true, disk_add);
	if (!s->nr && !*s->why)
		snprintf(s->why, sizeof s->why, "no disk has been read or written");
}

static void disk_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	lines_read(s, to, true, "/proc/diskstats");
}

const struct telemetry_ops telemetry_disk = {
    .name = "disk",
    .summary = "bytes, operations and busy time of each disk (/proc/diskstats)",
    .find = disk_find,
    .read = disk_read,
    .close = lines_close,
};

/* Columns of /proc/net/dev behind the name: proc(5). */
static const struct column network_columns[] = {
    {0, 1, 1, "received", "bytes"},       {8, 1, 1, "sent", "bytes"},
    {1, 1, 1, "packets received", ""},    {9, 1, 1, "packets sent", ""},
    {3, 1, 1, "packets dropped, in", ""}, {11, 1, 1, "packets dropped, out", ""},
};

static void network_add(struct telemetry_source *s, const char *name, size_t len,
                        const char *columns)
{
	uint64_t numbers[9];

	if (telemetry_numbers(columns, NULL, numbers, 9) == 9 && (numbers[0] || numbers[8]))
		line_add(s, name, len);
}

static void network_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	lines_open(s, roots, "net/dev", network_columns,
	           sizeof network_columns / sizeof *network_columns);
	lines_each(s, false, network_add);
	telemetry_fabric_find(s, roots);
	if (!s->nr && !*s->why)
		snprintf(s->why, sizeof s->why, "no interface has sent or received anything");
}

static void network_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	lines_read(s, to, false, "/proc/net/dev");
	telemetry_files_read(s);
}

const struct telemetry_ops telemetry_network = {
    .name = "network",
    .summary = "bytes and packets of each interface, InfiniBand and Slingshot (CXI) port",
    .find = network_find,
    .read = network_read,
    .close = lines_close,
};
