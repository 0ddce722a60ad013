/* The host's CPUs, memory, disks and pressure, by texts of the kernel: proc(5). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/telemetry/private.h"

/* The texts of a source, open. */
struct texts {
	int fd[3];
	struct telemetry_pace pace;
};

static struct texts *texts_open(struct telemetry_source *s)
{
	struct texts *t = s->own = af_xcalloc(1, sizeof *t);

	t->fd[0] = t->fd[1] = t->fd[2] = -1;
	return t;
}

static void texts_close(struct telemetry_source *s)
{
	struct texts *t = s->own;

	for (int i = 0; t && i < 3; i++)
		if (t->fd[i] >= 0)
			close(t->fd[i]);
	free(t);
	s->own = NULL;
}

/* Columns of the line "cpu" of /proc/stat, which are ticks of USER_HZ. */
static const char *const cpu_states[] = {"CPU user",     "CPU user, nice", "CPU system",
                                         "CPU idle",     "CPU waiting",    "CPU interrupts",
                                         "CPU softirqs", "CPU stolen"};
enum { CPU_STATES = sizeof cpu_states / sizeof *cpu_states, STAT_BYTES = 256 << 10 };

/* Behind them: lines of one number each. */
static const struct {
	const char *key, *name, *unit;
	uint32_t flags;
} stat_lines[] = {{"ctxt ", "context switches", "", AF_COUNTER_AMOUNT},
                  {"processes ", "forks", "", AF_COUNTER_AMOUNT},
                  {"procs_blocked ", "threads blocked on IO", "", 0}};
enum { STAT_LINES = sizeof stat_lines / sizeof *stat_lines, RUNNING = CPU_STATES + STAT_LINES };

/*
 * The kernel adds up all interrupts of all CPUs to write the one text, and next to nothing for the
 * other, which has the threads that run at each tick.
 */
enum { STAT, LOADAVG, STAT_APART = 2000 };

static void system_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	struct texts *t = texts_open(s);

	t->fd[STAT] = telemetry_text_open(roots, "stat");
	t->fd[LOADAVG] = telemetry_text_open(roots, "loadavg");
	if (t->fd[STAT] < 0) {
		snprintf(s->why, sizeof s->why, "%s/stat cannot be read", roots->proc);
		return;
	}
	for (int i = 0; i < CPU_STATES; i++)
		telemetry_add(s, 0, AF_COUNTER_AMOUNT, (uint64_t)sysconf(_SC_CLK_TCK),
		              cpu_states[i], "s", "CPU");
	for (int i = 0; i < STAT_LINES; i++)
		telemetry_add(s, 0, stat_lines[i].flags, 1, stat_lines[i].name, stat_lines[i].unit,
		              "tasks");
	if (t->fd[LOADAVG] >= 0)
		telemetry_add(s, 0, 0, 1, "threads running", "", "tasks");
}

static void stat_read(struct telemetry_source *s, struct texts *t)
{
	static _Thread_local char text[STAT_BYTES];
	uint64_t ticks[CPU_STATES], number;

	if (!telemetry_text_read(t->fd[STAT], text, sizeof text)) {
		telemetry_failed(s, "/proc/stat");
		return;
	}
	uint32_t nr = telemetry_numbers(text, "cpu ", ticks, CPU_STATES);
	for (uint32_t i = 0; i < nr; i++)
		telemetry_total(s, i, ticks[i]);
	/* The line of interrupts before these is long. */
	const char *rest = strstr(text, "\nctxt ");
	for (uint32_t i = 0; rest && i < STAT_LINES; i++) {
		if (!telemetry_numbers(rest + 1, stat_lines[i].key, &number, 1))
			continue;
		if (stat_lines[i].flags & AF_COUNTER_AMOUNT)
			telemetry_total(s, CPU_STATES + i, number);
		else
			telemetry_put(s, CPU_STATES + i, number);
	}
}

/* Means of three times, then "threads that run/all of them". */
static void loadavg_read(struct telemetry_source *s, const struct texts *t)
{
	uint64_t running;
	char text[128];
	const char *at =
	    telemetry_text_read(t->fd[LOADAVG], text, sizeof text) ? strchr(text, '/') : NULL;

	while (at && at > text && at[-1] != ' ')
		at--;
	if (!at || !telemetry_numbers(at, NULL, &running, 1))
		telemetry_failed(s, "/proc/loadavg");
	else
		telemetry_put(s, RUNNING, running);
}

static void system_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	struct texts *t = s->own;

	if (t->fd[LOADAVG] >= 0)
		loadavg_read(s, t);
	if (!telemetry_is_due(s, &t->pace, to->time_ns, to->again))
		return;
	uint64_t begin_ns = af_now_ns();
	stat_read(s, t);
	telemetry_asked(&t->pace, begin_ns, STAT_APART);
}

const struct telemetry_ops telemetry_system = {
    .name = "system",
    .summary =
	"CPU time of the host by state, context switches, threads that run (/proc/stat, loadavg)",
    .find = system_find,
    .read = system_read,
    .close = texts_close,
};

enum { MEMORY_USED, MEMORY_CACHE, MEMORY_DIRTY, MEMORY_SWAPPED };

static void memory_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	struct texts *t = texts_open(s);

	t->fd[0] = telemetry_text_open(roots, "meminfo");
	if (t->fd[0] < 0) {
		snprintf(s->why, sizeof s->why, "%s/meminfo cannot be read", roots->proc);
		return;
	}
	telemetry_add(s, 0, 0, 1, "memory used", "bytes", "memory");
	telemetry_add(s, 0, 0, 1, "page cache", "bytes", "memory");
	telemetry_add(s, 0, 0, 1, "memory dirty", "bytes", "memory");
	telemetry_add(s, 0, 0, 1, "memory swapped out", "bytes", "memory");
}

/* Two lines in kilobytes: the first less the second, in bytes. */
static void memory_put(struct telemetry_source *s, uint32_t counter, const char *text,
                       const char *key, const char *less)
{
	uint64_t kb = 0, less_kb = 0;

	if (!telemetry_numbers(text, key, &kb, 1) ||
	    (less && !telemetry_numbers(text, less, &less_kb, 1)) || less_kb > kb)
		return;
	telemetry_put(s, counter, (kb - less_kb) * 1024);
}

static void memory_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	struct texts *t = s->own;
	char text[8192];

	if (!telemetry_is_due(s, &t->pace, to->time_ns, to->again))
		return;
	uint64_t begin_ns = af_now_ns();
	if (!telemetry_text_read(t->fd[0], text, sizeof text)) {
		telemetry_failed(s, "/proc/meminfo");
		return;
	}
	telemetry_asked(&t->pace, begin_ns, TELEMETRY_TEXT_APART);
	memory_put(s, MEMORY_USED, text, "MemTotal:", "MemAvailable:");
	memory_put(s, MEMORY_CACHE, text, "Cached:", NULL);
	memory_put(s, MEMORY_DIRTY, text, "Dirty:", NULL);
	memory_put(s, MEMORY_SWAPPED, text, "SwapTotal:", "SwapFree:");
}

const struct telemetry_ops telemetry_memory = {
    .name = "memory",
    .summary = "memory of the host: used, cached, dirty, swapped out (/proc/meminfo)",
    .find = memory_find,
    .read = memory_read,
    .close = texts_close,
};

/* Times in which some tasks, or all, waited for a resource: Documentation/accounting/psi.rst. */
static const char *const pressures[] = {"cpu", "memory", "io"};

static void pressure_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	struct texts *t = texts_open(s);
	char name[32], title[64];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "pressure/%s", pressures[i]);
		t->fd[i] = telemetry_text_open(roots, name);
		for (int full = 0; t->fd[i] >= 0 && full < 2; full++) {
			snprintf(title, sizeof title, "%s pressure, %s", pressures[i],
			         full ? "full" : "some");
			telemetry_add(s, 0, AF_COUNTER_AMOUNT, 1000000, title, "s", "pressure");
		}
		if (t->fd[i] < 0 && !*s->why)
			snprintf(s->why, sizeof s->why,
			         "%s/%s cannot be read: boot with psi=1 (CONFIG_PSI)", roots->proc,
			         name);
	}
}

static void pressure_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	struct texts *t = s->own;
	uint32_t counter = 0;
	char text[512];
	(void)to;

	for (int i = 0; i < 3; i++) {
		if (t->fd[i] < 0)
			continue;
		telemetry_text_read(t->fd[i], text, sizeof text);
		for (int full = 0; full < 2; full++, counter++) {
			const char *line = strstr(text, full ? "full " : "some ");
			const char *total = line ? strstr(line, "total=") : NULL;
			uint64_t us;
			if (total && telemetry_numbers(total + strlen("total="), NULL, &us, 1))
				telemetry_total(s, counter, us);
		}
	}
}

const struct telemetry_ops telemetry_pressure = {
    .name = "pressure",
    .summary = "time in which tasks waited for CPUs, memory or IO (/proc/pressure)",
    .find = pressure_find,
    .read = pressure_read,
    .close = texts_close,
};
