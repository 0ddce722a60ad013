#include "report_job.h"

#include <stdint.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/table/table.h"
#include "analyse/time/slices.h"
#include "analyse/tree/tree.h"
#include "analyse/world/world.h"
#include "base/strtab.h"
#include "render/render.h"
#include "report_stacks.h"

enum { MS = 1000000 };

#define GEMM "P:train;n:main;G:gemm"
#define TREE "P:train;n:main;n:walk;n:walk;G:tree"

static const struct af_tree_weight weights[] = {{"time", "ns"}, {"samples", "samples"}};

struct job {
	struct af_render *r;
	const struct af_format *format;
	struct af_strtab names;
	struct af_tree stacks, cpu, gpu;
	struct af_world world;
	struct af_slices all;
	uint32_t nr_tracks;
};

static void tree_add(struct af_tree *t, const char *stack, uint64_t ms, uint64_t samples)
{
	uint32_t node = report_node(t, stack, NULL);

	af_tree_add(t, node, 0, ms * MS);
	af_tree_add(t, node, 1, samples);
}

static int job_trees(struct job *j, struct af_err *err)
{
	tree_add(&j->cpu, "P:mpirun;n:wait", 10, 1);
	tree_add(&j->cpu, "P:train;n:work", 400, 40);
	tree_add(&j->cpu, "P:loader;n:load", 200, 20);
	tree_add(&j->gpu, GEMM ";g:0x0010 LDG;g:[long scoreboard]", 300, 600);
	tree_add(&j->gpu, GEMM ";g:0x0010 LDG;g:[issued]", 50, 100);
	tree_add(&j->gpu, GEMM ";g:0x0020 HMMA;g:[fixed latency]", 150, 300);
	tree_add(&j->gpu, TREE ";g:0x0010 LDS;g:[barrier]", 80, 160);
	tree_add(&j->gpu, TREE ";g:0x0010 LDS;g:[issued]", 120, 240);
	af_tree_finish(&j->cpu);
	af_tree_finish(&j->gpu);
	j->r->label = "cpu";
	int rc = j->format->tree(j->r, &j->cpu, err);
	j->r->label = "gpu";
	rc = rc ? rc : j->format->tree(j->r, &j->gpu, err);
	j->r->label = NULL;
	j->r->slices = &j->all;
	return rc;
}

static int job_tables(struct job *j, struct af_err *err)
{
	static const struct af_column columns[] = {{"Reason", AF_CELL_TEXT, .key = "name"},
	                                           {"Samples", AF_CELL_COUNT, .key = "samples"},
	                                           {"Sort", AF_CELL_TEXT, .key = "category"}};
	static const struct {
		const char *name, *sort;
		uint64_t samples;
	} reasons[] = {{"long scoreboard", "memory", 600},
	               {"issued", "issued", 340},
	               {"fixed latency", "execute", 300},
	               {"barrier", "sync", 160}};
	struct af_tables f = {0};
	struct af_table *t = af_tables_table(&f, "reasons", "Why instructions stalled", columns, 3);

	for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		struct af_cell *c = af_table_row(&f, t);
		c[0].text = reasons[i].name;
		c[1].value = reasons[i].samples;
		c[2].text = reasons[i].sort;
	}
	int rc = j->format->tables(j->r, &f, err);
	af_tables_free(&f);
	return rc;
}

static uint32_t track_add(struct job *j, const struct af_track *is)
{
	struct af_track track = *is;

	track.id = ++j->nr_tracks;
	track.rank = track.id;
	j->format->track(j->r, &track);
	return track.id;
}

static void slice_add(struct job *j, uint32_t track, enum af_slice_kind kind, const char *stack,
                      uint64_t at_ms, uint64_t ms)
{
	bool run = kind == AF_SLICE_RUN;
	struct af_slice s = {
	    .kind = (uint8_t)kind,
	    .track = track,
	    .name = af_strtab_id_z(&j->names, strrchr(stack, ':') + 1),
	    .stack = report_node(&j->stacks, stack, NULL),
	    .start_ns = j->all.start_ns + at_ms * MS,
	    .end_ns = j->all.start_ns + (at_ms + ms) * MS,
	    .value = run ? ms / 10 : 0,
	    .weight_ns = run ? ms * MS : 0,
	};

	j->format->slice(j->r, &s);
}

/* A process with a thread that runs, whose track this returns. */
static uint32_t process_add(struct job *j, const char *name, uint32_t pid, const char *rank,
                            uint32_t *process)
{
	*process =
	    track_add(j, &(struct af_track){
			     .kind = AF_TRACK_PROCESS, .pid = pid, .name = name, .in_rank = rank});
	uint32_t thread = track_add(j, &(struct af_track){.kind = AF_TRACK_THREAD,
	                                                  .parent = *process,
	                                                  .pid = pid,
	                                                  .tid = pid,
	                                                  .name = "main"});
	return track_add(j, &(struct af_track){.kind = AF_TRACK_ROW,
	                                       .parent = thread,
	                                       .pid = pid,
	                                       .tid = pid,
	                                       .name = "on CPU (samples)"});
}

static uint32_t stream_add(struct job *j, uint32_t process, uint32_t pid)
{
	uint32_t device = track_add(j, &(struct af_track){.kind = AF_TRACK_DEVICE,
	                                                  .parent = process,
	                                                  .pid = pid,
	                                                  .name = "H200 (device 1)"});

	return track_add(
	    j, &(struct af_track){
		   .kind = AF_TRACK_ROW, .parent = device, .pid = pid, .name = "stream 7"});
}

static void job_slices(struct job *j)
{
	uint32_t process;
	uint32_t run = process_add(j, "mpirun", 200, NULL, &process);

	slice_add(j, run, AF_SLICE_RUN, "P:mpirun;n:wait", 0, 10);
	run = process_add(j, "rank 0 · train", 201, "0", &process);
	uint32_t stream = stream_add(j, process, 201);
	slice_add(j, run, AF_SLICE_RUN, "P:train;n:work", 0, 300);
	slice_add(j, stream, AF_SLICE_WORK, GEMM, 0, 400);
	run = process_add(j, "rank 1 · train", 202, "1", &process);
	stream = stream_add(j, process, 202);
	slice_add(j, run, AF_SLICE_RUN, "P:train;n:work", 0, 100);
	slice_add(j, stream, AF_SLICE_WORK, GEMM, 400, 100);
	slice_add(j, stream, AF_SLICE_WORK, TREE, 600, 200);
	run = process_add(j, "rank 1 · loader", 203, "1", &process);
	slice_add(j, run, AF_SLICE_RUN, "P:loader;n:load", 500, 200);
}

int make_job(struct af_render *r, const struct af_format *format, struct af_err *err)
{
	struct job j = {.r = r, .format = format};

	af_tree_open(&j.stacks, weights, 1);
	af_tree_open(&j.cpu, weights, 2);
	af_tree_open(&j.gpu, weights, 2);
	j.all.names = &j.names;
	j.all.stacks = &j.stacks;
	j.all.world = &j.world;
	j.all.damage = "";
	j.all.start_ns = 5000000000;
	int rc = job_tables(&j, err);
	rc = rc ? rc : job_trees(&j, err);
	job_slices(&j);
	rc = rc ? rc : format->end(r, err);
	af_tree_close(&j.stacks);
	af_tree_close(&j.cpu);
	af_tree_close(&j.gpu);
	af_strtab_free(&j.names);
	return rc;
}
