/* aflame doctor: what works on this machine, what does not, and what fixes it. */
#include <errno.h>
#include <gnu/lib-names.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/proc.h"
#include "base/system/rights.h"
#include "cmd/metrics/metrics.h"
#include "cmd/record/library.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/summary.h"
#include "collect/bpf/bpf.h"
#include "collect/probe/collect.h"
#include "collect/telemetry/telemetry.h"
#include "sym/device/disassembler.h"
#include "sym/resolve/packages.h"
#include "trace/read/reader.h"

struct doctor_options {
	bool json, metrics;
};

static void doctor_json(struct af_buf *b, const struct af_collector_ops *c, bool works,
                        const char *words, bool first)
{
	af_buf_str(b, first ? "{\"name\":" : ",{\"name\":");
	af_buf_json(b, c->name, strlen(c->name));
	af_buf_fmt(b, ",\"works\":%s,\"says\":", works ? "true" : "false");
	af_buf_json(b, words, strlen(words));
	af_buf_char(b, '}');
}

/* Capabilities that are no collectors. */
static void doctor_json_pair(struct af_buf *b, const char *key, bool works, const char *words)
{
	af_buf_fmt(b, ",\"%s\":{\"works\":%s,\"says\":", key, works ? "true" : "false");
	af_buf_json(b, words, strlen(words));
	af_buf_char(b, '}');
}

static void doctor_line(bool works, const char *name, const char *words, const char *summary)
{
	bool colour = af_colour(stdout);
	const char *mark = works ? "works " : "does not";
	const char *paint = !colour ? "" : works ? "\033[32m" : "\033[31m";

	printf("%s%-8s%s  %-12s  %s\n", paint, mark, colour ? "\033[0m" : "", name, words);
	if (summary)
		printf("%24s%s\n", "", summary);
}

/* Streams live in /dev/shm: 4 MiB a thread at most. */
static bool doctor_shm(char *words, size_t size)
{
	char dir[] = "/dev/shm/aflame-doctor-XXXXXX";
	struct statvfs v;

	if (statvfs("/dev/shm", &v)) {
		snprintf(words, size, "/dev/shm is not there: mount a tmpfs at it");
		return false;
	}
	if (!mkdtemp(dir)) {
		snprintf(words, size, "cannot make a directory in /dev/shm: %s", strerror(errno));
		return false;
	}
	rmdir(dir);
	uint64_t mb = (uint64_t)v.f_bavail * v.f_bsize >> 20;
	snprintf(words, size, "%llu MB free in /dev/shm%s", (unsigned long long)mb,
	         mb < 64 ? ": little; in a container give --shm-size=1g" : "");
	return mb >= 16;
}

/* Does the kernel tell where its functions are? Without that its stacks are but numbers. */
static bool kallsyms_tell(void)
{
	scope_rights(AF_RIGHTS_NAMES);
	scope_fclose FILE *f = fopen("/proc/kallsyms", "re");
	char line[512];

	while (f && fgets(line, sizeof line, f))
		if (strtoull(line, NULL, 16))
			return true;
	return false;
}

static bool doctor_kernel(char *words, size_t size)
{
	char level[8];

	if (kallsyms_tell()) {
		snprintf(words, size, "functions of the kernel have names");
		return true;
	}
	af_read_text("/proc/sys/kernel/kptr_restrict", level, sizeof level);
	if (access("/proc/kallsyms", R_OK))
		snprintf(
		    words, size,
		    "functions of the kernel have no names, because /proc/kallsyms is missing");
	else if (atoi(level) > 1)
		snprintf(words, size,
		         "functions of the kernel have no names: run `sysctl "
		         "kernel.kptr_restrict=1` as root");
	else
		snprintf(words, size,
		         "functions of the kernel have names for root only, or with cap_syslog (in "
		         "a container: --cap-add SYSLOG)");
	return false;
}

/* Without it instructions of a GPU have names, but no operands. */
static bool doctor_code(char *words, size_t size)
{
	scope_free struct af_disassembler *d = af_xcalloc(1, sizeof *d);
	bool found = af_disassembler_find(d, AF_DISASSEMBLER_NVDISASM, 0);

	if (found)
		snprintf(words, size, "instructions of GPUs as %.400s has them (by %s)", d->path,
		         d->from);
	else
		snprintf(words, size,
		         "no nvdisasm: instructions of GPUs are shown without operands; put it in "
		         "$PATH, "
		         "or name it in $AFLAME_NVDISASM");
	return found;
}

/* Files whose functions have no names, and the packages that have them. */
struct doctor_names {
	struct af_buf files, packages;
};

static void names_add(void *arg, const char *path, const char *package)
{
	struct doctor_names *n = arg;
	const char *slash = strrchr(path, '/');

	af_buf_fmt(&n->files, "%s%s", n->files.len ? ", " : "", slash ? slash + 1 : path);
	/* One package may have several of the files. */
	char word[NAME_MAX + 8];
	snprintf(word, sizeof word, " %s", package);
	if (!n->packages.len || !strstr(n->packages.data, word))
		af_buf_str(&n->packages, word);
}

/* The C library, which is in most stacks, as it is mapped here. */
static void names_of_libc(struct doctor_names *n)
{
	scope_fclose FILE *f = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];

	while (f && fgets(line, sizeof line, f)) {
		const char *path = strchr(line, '/'), *slash = strrchr(line, '/');
		line[strcspn(line, "\n")] = 0;
		if (!path || strcmp(slash + 1, LIBC_SO) != 0)
			continue;
		if (af_packages_wanted(path)) {
			af_packages_find(NULL, &path, 1, names_add, n);
			if (!n->files.len)
				af_buf_str(&n->files, LIBC_SO);
		}
		return;
	}
}

/* The notes of a trace about files in which names were looked up. */
static int names_of_trace(struct doctor_names *n, const char *dir, struct af_err *err)
{
	static const char key[] = "symbols.package.";
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_trace *t;
	struct af_event ev;
	int rc = af_trace_open(&t, dir, 1ull << AF_KIND_NOTE, err);

	if (rc)
		return rc;
	while (af_trace_next(t, &ev)) {
		if (ev.kind != AF_KIND_NOTE || !af_event_decode(&ev, NULL, 0, tails))
			continue;
		const char *of = (const char *)tails[0].data,
			   *package = (const char *)tails[1].data;
		if (!strncmp(of, key, sizeof key - 1))
			names_add(n, of + sizeof key - 1, package);
	}
	af_trace_close(t);
	return 0;
}

/* Do functions of stripped files have names: the C library's, and those in the trace @dir? */
static int doctor_names(const char *dir, bool *works, char *words, size_t size, struct af_err *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct doctor_names n = {0};
	int rc = 0;

	if (dir)
		rc = names_of_trace(&n, dir, err);
	else
		names_of_libc(&n);
	*works = !n.files.len;
	if (n.packages.len)
		snprintf(words, size, "functions of %.200s have no names: apt install%.250s%s",
		         n.files.data, n.packages.data,
		         urls && *urls ? "; servers are asked, too (DEBUGINFOD_URLS)" : "");
	else if (n.files.len)
		snprintf(words, size,
		         "functions of %.200s have no names: install its debug package, or name a "
		         "server in DEBUGINFOD_URLS",
		         n.files.data);
	else
		snprintf(words, size, "%s",
		         dir ? "no package is known that has more names for this trace"
		             : "functions of " LIBC_SO " have names");
	af_buf_free(&n.files);
	af_buf_free(&n.packages);
	return rc;
}

/* @json NULL: as text. */
static void doctor_check(struct af_buf *json, const char *key, const char *name, bool works,
                         const char *words)
{
	if (json)
		doctor_json_pair(json, key, works, words);
	else
		doctor_line(works, name, words, NULL);
}

/* Things that work here or do not, beside collectors. */
static const struct {
	const char *key, *name;
	bool (*check)(char *words, size_t size);
} checks[] = {
    {"drivers", "drivers", af_bpf_drivers_probe},
    {"kernel_names", "kernel", doctor_kernel},
    {"disassembler", "code", doctor_code},
    {"shm", "shm", doctor_shm},
};

/* Sources of `record --telemetry`. */
static void doctor_telemetry(struct af_buf *json)
{
	const char *name, *summary;
	char says[900], about[300];

	if (json)
		af_buf_str(json, ",\"telemetry\":[");
	for (unsigned i = 0; (name = af_telemetry_name(i, &summary)); i++) {
		bool works = !af_telemetry_probe(i, says, sizeof says);
		if (json)
			af_buf_fmt(json, "%s{\"name\":\"%s\",\"works\":%s,\"says\":", i ? "," : "",
			           name, works ? "true" : "false");
		if (json)
			af_buf_json(json, says, strlen(says));
		if (json)
			af_buf_char(json, '}');
		snprintf(about, sizeof about, "--telemetry %s: %s", name, summary);
		if (!json)
			doctor_line(works, name, says, about);
	}
	if (json)
		af_buf_char(json, ']');
}

static int doctor_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct doctor_options *o = state;
	struct af_buf json = {0};
	char says[900], library[PATH_MAX];
	bool cpu = false;
	struct af_err none = {0};

	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "doctor takes one trace: %s", words[1]);
	if (o->metrics && nr_words)
		return af_fail_plain(err, -EINVAL, "--metrics takes no trace: %s", words[0]);
	if (o->metrics)
		return af_metrics_show(o->json, err);
	bool names = false;
	char names_say[600];
	int rc = doctor_names(nr_words ? words[0] : NULL, &names, names_say, sizeof names_say, err);
	if (rc)
		return rc;
	if (!af_library_find(library, &none))
		af_collect_library(library);
	for (int i = 0; af_collectors[i]; i++) {
		const struct af_collector_ops *c = af_collectors[i];
		struct af_err why = {0};
		says[0] = 0;
		bool works = !c->probe(says, sizeof says, &why);
		cpu |= works && c->cpu_mode;
		if (o->json)
			doctor_json(&json, c, works, works ? says : why.msg, !i);
		else
			doctor_line(works, c->name, works ? says : why.msg, c->summary);
	}
	if (o->json)
		af_buf_char(&json, ']');
	bool shm = false;
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		bool works = checks[i].check(says, sizeof says);
		doctor_check(o->json ? &json : NULL, checks[i].key, checks[i].name, works, says);
		if (checks[i].check == doctor_shm)
			shm = works;
		if (checks[i].check == doctor_kernel)
			doctor_check(o->json ? &json : NULL, "names", "names", names, names_say);
	}
	doctor_telemetry(o->json ? &json : NULL);
	if (o->json)
		printf("{\"format\":1,\"collectors\":[%s}\n", json.data);
	af_buf_free(&json);
	return cpu && shm ? 0 : 1;
}

static const struct af_option doctor_options[] = {
    {AF_OPT_FLAG, "json", 0, NULL, "for programs", offsetof(struct doctor_options, json)},
    {AF_OPT_FLAG, "metrics", 0, NULL, "list what Intel GPUs can count, by Level Zero",
     offsetof(struct doctor_options, metrics)},
    {AF_OPT_END},
};

const struct af_command af_command_doctor = {
    .name = "doctor",
    .usage = "[--json] [--metrics | DIR]",
    .summary = "Show what works on this machine, and what fixes the rest",
    .details =
	"It tries every collector and writes no trace. The exit status is 0 if programs can be\n"
	"sampled here. With DIR it lists the packages that give names to that trace's functions.\n"
	"--metrics lists the metric groups of all GPUs and their sub-devices, with the metrics in\n"
	"them, or why there are none; the exit status is 0 if there is one.",
    .flags = AF_CMD_KEEPS_RIGHTS,
    .options = doctor_options,
    .state_size = sizeof(struct doctor_options),
    .run = doctor_run,
};
