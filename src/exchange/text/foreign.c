/*
 * Formats of others that are known and not read: by their first word, or by lines that they have.
 */
#include <string.h>

#include "exchange/source/sniff.h"

/* By bytes at the front. */
static const struct {
	const char *bytes;
	size_t nr;
	struct import_foreign is;
} magics[] = {
    {"gmon", 4, {"gprof's gmon.out", "`gprof PROGRAM gmon.out` prints it"}},
    {"\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
     24,
     {"a CPU profile of gperftools",
      "`pprof -proto PROGRAM FILE >cpu.pb.gz` makes a profile that is read"}},
    {"FLR\0",
     4,
     {"a recording of Java's Flight Recorder",
      "async-profiler's `jfrconv -o collapsed FILE out.folded` makes folded text of it"}},
    {"\xfb)", 2, {"a profile of Python's cProfile", "`python3 -m pstats FILE` shows it"}},
    {"\xfb\xa9", 2, {"a profile of Python's cProfile", "`python3 -m pstats FILE` shows it"}},
    {"{)", 2, {"a profile of Python's cProfile", "`python3 -m pstats FILE` shows it"}},
    {"{\xa9", 2, {"a profile of Python's cProfile", "`python3 -m pstats FILE` shows it"}},
    {"NVR\0", 4, {"a report of Nsight Compute", "`ncu --import FILE` prints it"}},
    {"\x28\xb5\x2f\xfd", 4, {"packed by zstd", "`zstd -dc FILE | aflame import -`"}},
    {"\xfd"
     "7zXZ",
     5,
     {"packed by xz", "`xz -dc FILE | aflame import -`"}},
    {"BZh", 3, {"packed by bzip2", "`bzip2 -dc FILE | aflame import -`"}},
    {"PK\3\4", 4, {"a zip archive", "`unzip -p FILE | aflame import -`"}},
    {"\xff\xfe", 2, {"text in UTF-16", "`iconv -f UTF-16 -t UTF-8 FILE | aflame import -`"}},
    {"\xfe\xff", 2, {"text in UTF-16", "`iconv -f UTF-16 -t UTF-8 FILE | aflame import -`"}},
    {"\x7f"
     "ELF",
     4,
     {"a program (ELF) and no profile", "record it: `aflame run -- FILE`"}},
};

#define PPROF_TEXT                                                                                 \
	{                                                                                          \
		"pprof's legacy text",                                                             \
		    "`go tool pprof -proto -output out.pb.gz FILE` makes a profile that is read"   \
	}
#define CALLGRIND                                                                                  \
	{                                                                                          \
		"callgrind's output", "callgrind_annotate and kcachegrind show it"                 \
	}

/* By lines that begin so, all of them. */
static const struct {
	const char *lines[3];
	struct import_foreign is;
} texts[] = {
    {{"# callgrind format"}, CALLGRIND},
    {{"creator: callgrind"}, CALLGRIND},
    {{"positions: ", "events: "}, CALLGRIND},
    {{"desc: ", "cmd: ", "events: "}, {"cachegrind's output", "cg_annotate prints it"}},
    {{"events: ", "fn="}, CALLGRIND},
    {{"desc: ", "snapshot=", "mem_heap_B="}, {"massif's output", "ms_print prints it"}},
    {{"heap profile: "}, PPROF_TEXT},
    {{"goroutine profile: total "}, PPROF_TEXT},
    {{"threadcreate profile: total "}, PPROF_TEXT},
    {{"--- contention"}, PPROF_TEXT},
    {{"--- mutex"}, PPROF_TEXT},
    {{"--- threadz"}, PPROF_TEXT},
    {{"--- symbol", "binary="}, PPROF_TEXT},
    {{"# Samples: ", "# Overhead"},
     {"a report of perf's", "import its perf.data, or what `perf script` prints"}},
    {{"@[", "]: "},
     {"bpftrace's output", "FlameGraph's stackcollapse-bpftrace.pl makes folded text of it"}},
    {{"<?xml"}, {"a picture or page", "import what it was made of"}},
    {{"<svg"}, {"a picture", "import what it was made of"}},
    {{"<!DOCTYPE"}, {"a page", "import what it was made of"}},
};

static const struct import_foreign jsons[] = {
    [IMPORT_JSON_CPUPROFILE] = {"V8's CPU profile (.cpuprofile)",
                                "speedscope.app opens it and exports a file that is read"},
    [IMPORT_JSON_FIREFOX] = {"a profile of Firefox's",
                             "speedscope.app opens it and exports a file that is read"},
    [IMPORT_JSON_DHAT] = {"dhat's output", "valgrind's dh_view.html shows it"},
};

static bool has_lines(const char *text, size_t len, const char *const lines[3])
{
	for (int i = 0; i < 3 && lines[i]; i++)
		if (!import_has_line(text, len, lines[i]))
			return false;
	return true;
}

const struct import_foreign *import_foreign(const char *text, size_t len)
{
	for (unsigned i = 0; i < sizeof magics / sizeof *magics; i++)
		if (len >= magics[i].nr && !memcmp(text, magics[i].bytes, magics[i].nr))
			return &magics[i].is;
	enum import_json_kind json = import_json_kind(text, len);
	if (json && json < sizeof jsons / sizeof *jsons && jsons[json].name)
		return &jsons[json];
	if (json)
		return NULL;
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
		if (has_lines(text, len, texts[i].lines))
			return &texts[i].is;
	return NULL;
}
