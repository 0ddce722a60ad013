#include "render/profiles/firefox_head.h"

#include <string.h>

#include "analyse/tree/tree.h"
#include "render/text/label.h"

enum { VERSION_PROCESSED = 48, VERSION_GECKO = 27 };

/* One a layer, by enum af_frame; the first grey one is the viewer's default. */
static void write_categories(struct af_buf *b)
{
	static const char *const colors[AF_FRAME_END] = {
	    [AF_FRAME_NATIVE] = "blue",      [AF_FRAME_PYTHON] = "yellow",
	    [AF_FRAME_KERNEL] = "orange",    [AF_FRAME_INLINED] = "lightblue",
	    [AF_FRAME_JIT] = "green",        [AF_FRAME_GPU] = "purple",
	    [AF_FRAME_GPU_INSN] = "magenta", [AF_FRAME_PROCESS] = "darkgrey",
	    [AF_FRAME_MARK] = "grey",        [AF_FRAME_MPI] = "purple",
	};

	af_buf_str(b, "\"categories\":[");
	for (unsigned i = 0; i < AF_FRAME_END; i++)
		af_buf_fmt(b, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
		           i ? "," : "", af_frame_name(i), colors[i]);
	af_buf_str(b, "],\n");
}

static void write_schemas(struct af_buf *b)
{
	static const char *const fields[][2] = {
	    {"correlation", "integer"},
	    {"work items", "string"},
	    {"group", "string"},
	    {"bytes", "bytes"},
	    {"registers per thread", "integer"},
	    {"static shared bytes", "bytes"},
	    {"dynamic shared bytes", "bytes"},
	    {"local bytes per thread", "bytes"},
	    {"cluster", "string"},
	    {"queued ns", "integer"},
	    {"graph", "integer"},
	    {"samples", "integer"},
	    {"lost", "integer"},
	    {"error", "integer"},
	    {"unfinished", "integer"},
	};

	af_buf_str(b, "\"markerSchema\":[");
	for (int kind = 0; kind < AF_SLICE_END; kind++) {
		af_buf_fmt(b,
		           "%s{\"name\":\"%s\",\"display\":[\"marker-chart\",\"marker-table\"],"
		           "\"data\":[",
		           kind ? ",\n" : "", af_slice_category(kind));
		for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
			af_buf_fmt(b, "%s{\"key\":\"%s\",\"label\":\"%s\",\"format\":\"%s\"}",
			           i ? "," : "", fields[i][0], fields[i][0], fields[i][1]);
		af_buf_str(b, "]}");
	}
	af_buf_str(b, "]},\n");
}

static void write_meta(const struct af_slices *all, struct af_buf *b)
{
	uint64_t start_ns = 0;

	if (all && all->realtime.foreign_ns)
		start_ns = all->realtime.foreign_ns - all->realtime.mono_ns + all->start_ns;
	af_buf_fmt(b,
	           "{\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,\"interval\":1,"
	           "\"startTime\":",
	           VERSION_GECKO, VERSION_PROCESSED);
	af_label_exact(b, start_ns, 1000000);
	af_buf_str(b, ",\"processType\":0,\"product\":\"aflame " AFLAME_VERSION
	              "\",\"importedFrom\":\"aflame\",\"stackwalk\":1,\"debug\":false,"
	              "\"symbolicated\":true,\"sourceCodeIsNotOnSearchfox\":true,"
	              "\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,"
	              "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
	              "\"threadCPUDelta\":\"ns\"},"
	              "\"extensions\":{\"length\":0,\"id\":[],\"name\":[],\"baseURL\":[]},\n");
	write_categories(b);
	write_schemas(b);
}

/* Breakpad's id: the bytes of a GUID in the order of Windows, and an age of 0. */
static void write_breakpad(struct af_buf *b, const char *build_id)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	size_t len = strlen(build_id) / 2;

	for (int i = 0; i < 16; i++)
		for (int digit = 0; digit < 2; digit++) {
			char c = order[i] < len ? build_id[order[i] * 2 + digit] : '0';
			af_buf_char(b, c >= 'a' ? (char)(c - 'a' + 'A') : c);
		}
	af_buf_char(b, '0');
}

static void write_libs(struct af_buf *b, const struct af_strtab *libs)
{
	af_buf_str(b, "\"libs\":[");
	for (uint32_t i = 1; i < libs->nr; i++) {
		const char *path = af_strtab_get(libs, i), *build_id = strchr(path, '\t') + 1;
		size_t len = (size_t)(build_id - 1 - path), base = len;
		while (base && path[base - 1] != '/')
			base--;
		af_buf_str(b, i > 1 ? ",\n{\"arch\":\"\"" : "{\"arch\":\"\"");
		for (int debug = 0; debug < 2; debug++) {
			af_buf_str(b, debug ? ",\"debugName\":" : ",\"name\":");
			af_buf_json(b, path + base, len - base);
			af_buf_str(b, debug ? ",\"debugPath\":" : ",\"path\":");
			af_buf_json(b, path, len);
		}
		af_buf_str(b, ",\"breakpadId\":\"");
		write_breakpad(b, build_id);
		af_buf_str(b, "\",\"codeId\":");
		if (*build_id)
			af_buf_json(b, build_id, strlen(build_id));
		else
			af_buf_str(b, "null");
		af_buf_char(b, '}');
	}
	af_buf_str(b, "],\n");
}

void firefox_head(struct af_buf *b, const struct af_slices *all, const struct af_strtab *libs)
{
	write_meta(all, b);
	write_libs(b, libs);
}
