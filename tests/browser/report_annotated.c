/*
 * Kernels in full, for report_maker: "latency(float*)" with lines, instructions and what they wait
 * for; another without code, whose name and source try to leave their place.
 */
#include "report_annotated.h"

#include <stdio.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/table/facts.h"
#include "base/err.h"

#define HOSTILE "</script><img src=x onerror=window.pwned=1>\xe2\x80\xae"

static void add_kernel(struct af_facts *f, const char *name, const char *samples)
{
	static const struct af_column columns[] = {{"", AF_CELL_TEXT}, {"", AF_CELL_TEXT}};
	struct af_table *t = af_facts_table(f, "kernel", "Kernel", columns, 2);
	struct af_cell *c = af_table_row(f, t);

	c[0].text = "Kernel";
	c[1].text = name;
	c = af_table_row(f, t);
	c[0].text = "Samples";
	c[1].text = samples;
}

static void add_reasons(struct af_facts *f, uint64_t memory, uint64_t issued)
{
	static const struct af_column columns[AF_REASON_COLUMNS] = {
	    {"Letter", AF_CELL_TEXT},
	    {"Reason", AF_CELL_TEXT},
	    {"Samples", AF_CELL_COUNT},
	    {"Share", AF_CELL_PERCENT},
	    {"Idle", AF_CELL_PERCENT},
	    {"Sort", AF_CELL_TEXT, AF_SHOW_NEVER},
	    {"Meaning", AF_CELL_TEXT},
	    {"What to try", AF_CELL_TEXT},
	    {"Name", AF_CELL_TEXT, AF_SHOW_NEVER},
	};
	static const char *const texts[2][5] = {
	    {"L", "long scoreboard", "memory", "A value has not arrived.", "Load earlier."},
	    {"=", "issued", "issued", "No stall.", ""},
	};
	struct af_table *t = af_facts_table(f, "reasons", "Reasons", columns, AF_REASON_COLUMNS);
	const uint64_t samples[] = {memory, issued};

	for (int i = 0; i < 2; i++) {
		struct af_cell *c = af_table_row(f, t);
		c[AF_REASON_LETTER].text = texts[i][0];
		c[AF_REASON_NAME].text = texts[i][1];
		c[AF_REASON_SAMPLES].value = samples[i];
		c[AF_REASON_SHARE].value = af_facts_ratio(samples[i], memory + issued, 1e4);
		c[AF_REASON_SORT].text = texts[i][2];
		c[AF_REASON_MEANING].text = texts[i][3];
		c[AF_REASON_ADVICE].text = texts[i][4];
		c[AF_REASON_DRIVER].text = "";
	}
}

static struct af_table *add_lines(struct af_facts *f)
{
	static const struct af_column columns[] = {
	    [AF_LINE_RANK] = {"Rank", AF_CELL_COUNT, AF_SHOW_NEVER},
	    [AF_LINE_FILE] = {"File", AF_CELL_TEXT},
	    [AF_LINE_NUMBER] = {"Line", AF_CELL_COUNT},
	    [AF_LINE_FUNCTION] = {"Function", AF_CELL_TEXT},
	    [AF_LINE_SOURCE] = {"Source", AF_CELL_TEXT},
	    [AF_LINE_SAMPLES] = {"Samples", AF_CELL_COUNT},
	    [AF_LINE_SHARE] = {"Share", AF_CELL_PERCENT},
	    [AF_LINE_TIME] = {"Time", AF_CELL_NS},
	    [AF_LINE_WITH_INLINED] = {"With inlined", AF_CELL_COUNT},
	    [AF_LINE_REASONS] = {"long scoreboard", AF_CELL_COUNT},
	    {"issued", AF_CELL_COUNT},
	};

	return af_facts_table(f, "lines", "Source lines", columns, AF_LINE_REASONS + 2);
}

static void line(struct af_facts *f, struct af_table *t, uint32_t rank, uint32_t number,
                 const char *source, uint64_t memory, uint64_t issued)
{
	struct af_cell *c = af_table_row(f, t);

	c[AF_LINE_RANK].value = rank;
	c[AF_LINE_FILE].text = "/src/latency.cu";
	c[AF_LINE_NUMBER].value = number;
	c[AF_LINE_FUNCTION].text = rank ? "load" : "";
	c[AF_LINE_SOURCE].text = source;
	c[AF_LINE_SAMPLES].value = memory + issued;
	c[AF_LINE_SHARE].value = (memory + issued) * 10;
	c[AF_LINE_TIME].value = (memory + issued) * 1000;
	c[AF_LINE_WITH_INLINED].value = memory + issued;
	c[AF_LINE_REASONS].value = memory;
	c[AF_LINE_REASONS + 1].value = issued;
}

static struct af_table *add_insns(struct af_facts *f)
{
	static const struct af_column columns[] = {
	    [AF_INSN_RANK] = {"Rank", AF_CELL_COUNT, AF_SHOW_NEVER},
	    [AF_INSN_OFFSET] = {"Offset", AF_CELL_COUNT},
	    [AF_INSN_TEXT] = {"Text", AF_CELL_TEXT},
	    [AF_INSN_FILE] = {"File", AF_CELL_TEXT},
	    [AF_INSN_LINE] = {"Line", AF_CELL_COUNT},
	    [AF_INSN_INLINED] = {"Inlined", AF_CELL_TEXT},
	    [AF_INSN_SAMPLES] = {"Samples", AF_CELL_COUNT},
	    [AF_INSN_SHARE] = {"Share", AF_CELL_PERCENT},
	    [AF_INSN_TIME] = {"Time", AF_CELL_NS},
	    [AF_INSN_WAITS] = {"Waits for", AF_CELL_TEXT},
	    [AF_INSN_REASONS] = {"long scoreboard", AF_CELL_COUNT},
	    {"issued", AF_CELL_COUNT},
	};

	return af_facts_table(f, "insns", "Instructions", columns, AF_INSN_REASONS + 2);
}

static void insn(struct af_facts *f, struct af_table *t, uint32_t rank, uint32_t offset,
                 const char *text, uint32_t number, const char *waits, uint64_t memory,
                 uint64_t issued)
{
	struct af_cell *c = af_table_row(f, t);

	c[AF_INSN_RANK].value = rank;
	c[AF_INSN_OFFSET].value = offset;
	c[AF_INSN_TEXT].text = text;
	c[AF_INSN_FILE].text = number ? "/src/latency.cu" : "";
	c[AF_INSN_LINE].value = number;
	c[AF_INSN_INLINED].text = number == 11 ? "load ← latency (latency.cu:30)" : "";
	c[AF_INSN_SAMPLES].value = memory + issued;
	c[AF_INSN_SHARE].value = (memory + issued) * 10;
	c[AF_INSN_TIME].value = (memory + issued) * 1000;
	c[AF_INSN_WAITS].text = waits;
	c[AF_INSN_REASONS].value = memory;
	c[AF_INSN_REASONS + 1].value = issued;
}

int make_annotated(struct af_render *r, const struct af_format *format, struct af_err *err)
{
	struct af_facts f = {0};

	add_kernel(&f, "latency(float*)", "1000 (90.00 % of all)");
	add_reasons(&f, 800, 200);
	struct af_table *t = add_lines(&f);
	line(&f, t, 0, 10, "{", 0, 0);
	line(&f, t, 1, 11, "	return p[i];", 700, 100);
	line(&f, t, 2, 30, "	s += load(p, i);", 100, 100);
	t = add_insns(&f);
	insn(&f, t, 3, 0, "IADD3 R1, R1, R2", 30, "", 0, 100);
	insn(&f, t, 4, 16, "LDG.E R2, [R4.64]", 11, "", 0, 100);
	insn(&f, t, 1, 32, "FADD R0, R0, R2", 11, "0x10", 700, 0);
	insn(&f, t, 2, 64, "EXIT", 30, "0x10 0x999", 100, 0);
	add_kernel(&f, HOSTILE, "111");
	add_reasons(&f, 11, 100);
	t = add_lines(&f);
	t = add_insns(&f);
	insn(&f, t, 1, 4096, HOSTILE, 0, "", 11, 90);
	t->note = "some are left out";
	r->label = "annotated";
	int rc = format->facts(r, &f, err);
	af_facts_free(&f);
	return rc;
}
