/*
 * Kernels in full, for report_maker: "latency(float*)" with lines, instructions and what they wait
 * for; another without code, whose name and source try to leave their place.
 */
#include "report_annotated.h"

#include <stdio.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/table/table.h"
#include "base/err.h"

#define HOSTILE "</script><img src=x onerror=window.pwned=1>\xe2\x80\xae"

static void add_kernel(struct af_tables *f, const char *name, const char *samples)
{
	struct af_table *t = af_pairs_table(f, "kernel", "Kernel");

	af_pair_row(f, t, "kernel", "Kernel", name);
	af_pair_row(f, t, "samples", "Samples", samples);
}

static void add_reasons(struct af_tables *f, uint64_t memory, uint64_t issued)
{
	static const struct af_column columns[] = {AF_REASON_COLUMNS(AF_ROW_COLUMN)};
	static const char *const texts[2][5] = {
	    {"L", "long scoreboard", "memory", "A value has not arrived.", "Load earlier."},
	    {"=", "issued", "issued", "No stall.", ""},
	};
	struct af_table *t = AF_TABLE(f, "reasons", "Reasons", columns);
	const uint64_t samples[] = {memory, issued};

	for (int i = 0; i < 2; i++) {
		struct af_reason_row *c = af_table_row(f, t);
		c->letter.text = texts[i][0];
		c->name.text = texts[i][1];
		c->samples.value = samples[i];
		c->share.value = af_tables_ratio(samples[i], memory + issued, 1e4);
		c->category.text = texts[i][2];
		c->meaning.text = texts[i][3];
		c->advice.text = texts[i][4];
		c->driver.text = "";
	}
}

static struct af_table *add_lines(struct af_tables *f)
{
	static const struct af_column columns[] = {
	    AF_LINE_COLUMNS(AF_ROW_COLUMN){"long scoreboard", AF_CELL_COUNT,
	                                   .key = "stall_long_scoreboard"},
	    {"issued", AF_CELL_COUNT, .key = "stall_issued"},
	};

	return AF_TABLE(f, "lines", "Source lines", columns);
}

static void line(struct af_tables *f, struct af_table *t, uint32_t rank, uint32_t number,
                 const char *source, uint64_t memory, uint64_t issued)
{
	struct af_line_row *c = af_table_row(f, t);

	c->rank.value = rank;
	c->file.text = "/src/latency.cu";
	c->number.value = number;
	c->function.text = rank ? "load" : "";
	c->source.text = source;
	c->samples.value = memory + issued;
	c->share.value = (memory + issued) * 10;
	c->time_ns.value = (memory + issued) * 1000;
	c->with_inlined.value = memory + issued;
	c->reasons[0].value = memory;
	c->reasons[1].value = issued;
}

static struct af_table *add_insns(struct af_tables *f)
{
	static const struct af_column columns[] = {
	    AF_INSN_COLUMNS(AF_ROW_COLUMN){"long scoreboard", AF_CELL_COUNT,
	                                   .key = "stall_long_scoreboard"},
	    {"issued", AF_CELL_COUNT, .key = "stall_issued"},
	};

	return AF_TABLE(f, "insns", "Instructions", columns);
}

static void insn(struct af_tables *f, struct af_table *t, uint32_t rank, uint32_t offset,
                 const char *text, uint32_t number, const char *waits, uint64_t memory,
                 uint64_t issued)
{
	struct af_insn_row *c = af_table_row(f, t);

	c->rank.value = rank;
	c->offset.value = offset;
	c->text.text = text;
	c->file.text = number ? "/src/latency.cu" : "";
	c->line.value = number;
	c->inlined.text = number == 11 ? "load ← latency (latency.cu:30)" : "";
	c->samples.value = memory + issued;
	c->share.value = (memory + issued) * 10;
	c->time_ns.value = (memory + issued) * 1000;
	c->waits.text = waits;
	c->reasons[0].value = memory;
	c->reasons[1].value = issued;
}

int make_annotated(struct af_render *r, const struct af_format *format, struct af_err *err)
{
	struct af_tables f = {0};

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
	int rc = format->tables(r, &f, err);
	af_tables_free(&f);
	return rc;
}
