/*
 * PC sampling. A kernel that runs is sampled evenly over its time: MOCK_PROCESSORS processors, each
 * every 2^period cycles. Of its samples the instruction in the middle has half, all for one reason,
 * and the others share the rest, for three reasons in turn; every second sample of an instruction
 * was without issue. What was sampled can be read some milliseconds later.
 *
 * What the real one answers with a crash, a hang or wrong numbers ends the program here, with a
 * line that says why: no buffer configured, the same buffer for reading, a second context of a
 * device.
 *
 * MOCK_CUPTI_PC_TRUTH names a file, to which each sample that there was is added as it is handed
 * out or lost: one line of function, symbol, offset, reason, samples, and "read" or "lost".
 */
#include "mock_cupti.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock_cupti_pc.h"

enum {
	PC_BYTES = 16, /* of an instruction */
	PC_RUNS_MAX = 100000,
	PC_CELLS_MAX = 65536,
	PC_OTHER_EVERY = 100, /* samples: one of the driver's own */
};

static const char *const pc_reasons[] = {
    "smsp__pcsamp_sample_count",
    "smsp__pcsamp_samples_data_dropped",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_selected",
    "smsp__pcsamp_warps_issue_stalled_selected_not_issued",
    "smsp__pcsamp_warps_issue_stalled_wait",
    "smsp__pcsamp_warps_issue_stalled_wait_not_issued",
    "smsp__pcsamp_warps_issue_stalled_barrier",
    "smsp__pcsamp_warps_issue_stalled_barrier_not_issued",
};
enum { PC_REASONS = sizeof(pc_reasons) / sizeof(*pc_reasons), PC_HOT = 2, PC_FIRST_COLD = 4 };

/* A kernel that runs, and how much of its time has been sampled. */
struct pc_run {
	const struct CUfunc_st *code;
	uint64_t crc, start_ns, end_ns, sampled_ns;
	uint32_t correlation, context;
};

/* Samples of one instruction that wait to be read. */
struct pc_cell {
	const struct CUfunc_st *code;
	uint64_t crc;
	uint32_t instruction, correlation, context, samples;
};

/* One context that is, or was, sampled. */
struct pc_context {
	struct pc_context *next;
	struct CUctx_st *context;
	bool is_on, is_full, is_started, begins_by_hand;
	uint32_t mode, period;
	uint64_t ready_samples, made;
	struct mock_pc_data *kept;
};

static pthread_mutex_t pc_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pc_context *pc_contexts;
static struct pc_run pc_runs[PC_RUNS_MAX];
static struct pc_cell pc_cells[PC_CELLS_MAX];
static uint32_t pc_nr_runs, pc_nr_cells;
static struct {
	uint32_t module;
	uint64_t crc;
} pc_modules[4096];
static uint32_t pc_nr_modules;

static void pc_die(const char *why)
{
	fprintf(stderr, "mock CUPTI: %s\n", why);
	abort();
}

static atomic_int pc_launches;

void cupti_pc_launching(int change)
{
	atomic_fetch_add(&pc_launches, change);
	if (change > 0 && mock_setting("MOCK_CUPTI_PC_LAUNCH_US", 0))
		usleep((useconds_t)mock_setting("MOCK_CUPTI_PC_LAUNCH_US", 0));
}

static void pc_check_launches(void)
{
	if (atomic_load(&pc_launches))
		pc_die("sampling is changed while somebody launches");
}

static struct pc_context *pc_of(const struct CUctx_st *context)
{
	struct pc_context *c = pc_contexts;

	while (c && c->context != context)
		c = c->next;
	return c;
}

/* ---- what is sampled */

static uint64_t pc_crc(const void *bytes, size_t size)
{
	const unsigned char *p = bytes;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ p[i]) * 16777619u;
	return hash;
}

void cupti_pc_module(const struct mock_module_data *m)
{
	pthread_mutex_lock(&pc_mutex);
	if (pc_nr_modules == sizeof(pc_modules) / sizeof(*pc_modules))
		pc_die("too many modules");
	pc_modules[pc_nr_modules].module = m->id;
	pc_modules[pc_nr_modules++].crc = pc_crc(m->cubin, m->bytes);
	pthread_mutex_unlock(&pc_mutex);
}

static uint64_t pc_module_crc(uint32_t module)
{
	for (uint32_t i = pc_nr_modules; i--;)
		if (pc_modules[i].module == module)
			return pc_modules[i].crc;
	return 0;
}

void cupti_pc_work(const struct mock_work *work)
{
	if (work->op != MOCK_KERNEL || !work->code)
		return;
	pthread_mutex_lock(&pc_mutex);
	for (const struct pc_context *c = pc_contexts; c; c = c->next) {
		if (c->context->id != work->context || !c->is_on ||
		    (c->begins_by_hand && !c->is_started))
			continue;
		if (!c->kept)
			pc_die("sampling without a configured buffer");
		if (pc_nr_runs == PC_RUNS_MAX)
			pc_die("too many kernels wait to be sampled");
		pc_runs[pc_nr_runs++] = (struct pc_run){
		    .code = work->code,
		    .crc = pc_module_crc(work->code->module),
		    .start_ns = work->start_ns,
		    .end_ns = work->end_ns,
		    .correlation = c->mode == MOCK_PC_SERIALIZED ? work->correlation : 0,
		    .context = work->context,
		};
	}
	pthread_mutex_unlock(&pc_mutex);
}

static void pc_add(const struct pc_run *run, uint32_t instruction, uint32_t samples)
{
	struct pc_cell *c = pc_cells;

	if (!samples)
		return;
	while (c < pc_cells + pc_nr_cells &&
	       (c->code != run->code || c->instruction != instruction ||
	        c->correlation != run->correlation || c->context != run->context))
		c++;
	if (c == pc_cells + PC_CELLS_MAX)
		pc_die("too many instructions wait to be read");
	if (c == pc_cells + pc_nr_cells) {
		pc_nr_cells++;
		*c = (struct pc_cell){run->code,        run->crc,     instruction,
		                      run->correlation, run->context, 0};
	}
	c->samples += samples;
}

/* @n samples of a kernel, on its instructions: the same each time. */
static void pc_spread(const struct pc_run *run, uint64_t n)
{
	const uint32_t nr = run->code->bytes / PC_BYTES, hot = nr / 2;
	const uint64_t others = n / 2;

	pc_add(run, hot, (uint32_t)(n - others));
	for (uint32_t i = 0; nr > 1 && i < nr; i++) {
		const uint32_t place = i < hot ? i : i - 1;

		if (i != hot)
			pc_add(run, i,
			       (uint32_t)(others * (place + 1) / (nr - 1) -
			                  others * place / (nr - 1)));
	}
}

static uint64_t pc_samples(const struct pc_context *c, uint64_t ns)
{
	return (uint64_t)((double)ns * MOCK_PROCESSORS * MOCK_CLOCK_KHZ / 1e6 /
	                  (double)(1ull << c->period));
}

/* Samples what has run @late_ns before now at the latest. Locked. */
static void pc_sample(struct pc_context *c, uint64_t late_ns)
{
	const uint64_t until_ns = mock_now() - late_ns,
		       full = mock_setting("MOCK_CUPTI_PC_FULL", 0);
	uint32_t left = 0;

	for (uint32_t i = 0; i < pc_nr_runs; i++) {
		struct pc_run *run = &pc_runs[i];
		const uint64_t end_ns = run->end_ns < until_ns ? run->end_ns : until_ns;
		const uint64_t done_ns = end_ns > run->start_ns ? end_ns - run->start_ns : 0;

		if (run->context == c->context->id && c->is_on && done_ns > run->sampled_ns) {
			const uint64_t n = pc_samples(c, done_ns) - pc_samples(c, run->sampled_ns);

			run->sampled_ns = done_ns;
			c->made += n;
			c->is_full |= full && c->made > full;
			if (!c->is_full)
				pc_spread(run, n);
		}
		if (run->sampled_ns < run->end_ns - run->start_ns)
			pc_runs[left++] = *run;
	}
	pc_nr_runs = left;
}

/* ---- what is read */

static void pc_truth(const struct pc_cell *cell, uint32_t reason, uint32_t samples, const char *how)
{
	const char *path = getenv("MOCK_CUPTI_PC_TRUTH");
	FILE *file = path && samples ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%s %u %u %s %u %s %u\n", cell->code->name, cell->code->symbol,
	        cell->instruction * PC_BYTES, pc_reasons[reason], samples, how, cell->correlation);
	fclose(file);
}

static uint32_t pc_reason(const struct pc_cell *cell)
{
	const uint32_t hot = cell->code->bytes / PC_BYTES / 2;

	return cell->instruction == hot ? PC_HOT : PC_FIRST_COLD + 2 * (cell->instruction % 3);
}

static void pc_give(const struct pc_cell *cell, struct mock_pc *pc)
{
	const uint32_t reason = pc_reason(cell), idle = cell->samples / 2;

	if (pc->size != sizeof(*pc) || !pc->stalls)
		pc_die("a record of a wrong size");
	if (pc->nr_stalls < PC_REASONS)
		pc_die("a record without room for all reasons: its count was not set anew");
	pc->crc = cell->crc;
	pc->offset = (uint64_t)cell->instruction * PC_BYTES;
	pc->function = cell->code->symbol;
	pc->name = cell->code->name;
	pc->nr_stalls = 1 + (idle > 0);
	pc->correlation = cell->correlation;
	pc->stalls[0] = (struct mock_pc_stall){reason, cell->samples};
	if (idle)
		pc->stalls[1] = (struct mock_pc_stall){reason + 1, idle};
	pc_truth(cell, reason, cell->samples, "read");
	pc_truth(cell, reason + 1, idle, "read");
}

/* Moves cells of a context into @data, as many as there is room for. */
static void pc_fill(const struct pc_context *c, struct mock_pc_data *data)
{
	const uint64_t round = mock_setting("MOCK_CUPTI_PC_ROUND", data->nr_max);
	const uint64_t nr_max = round < data->nr_max ? round : data->nr_max;
	uint32_t left = 0;

	data->nr = data->nr_remaining = 0;
	data->samples = data->dropped = data->other = 0;
	for (uint32_t i = 0; i < pc_nr_cells; i++) {
		const struct pc_cell cell = pc_cells[i];

		if (cell.context != c->context->id || data->nr == nr_max) {
			data->nr_remaining += cell.context == c->context->id;
			pc_cells[left++] = cell;
			continue;
		}
		data->samples += cell.samples;
		pc_give(&cell, &data->pcs[data->nr++]);
	}
	pc_nr_cells = left;
	data->other = data->samples / PC_OTHER_EVERY;
	data->samples += data->other;
	data->full = c->is_full;
}

static uint64_t pc_late_ns(void)
{
	return mock_setting("MOCK_CUPTI_PC_LATE_MS", 20) * 1000000;
}

/* A module is about to go: what is not read now is lost with MOCK_CUPTI_PC_FORGETS. */
void cupti_pc_unload(struct CUctx_st *context, const struct mock_module_data *m, bool is_after)
{
	struct pc_context *c;
	uint32_t left = 0;

	pthread_mutex_lock(&pc_mutex);
	c = pc_of(context);
	if (c && c->is_on && !is_after)
		pc_sample(c, 0);
	if (c && c->is_on && !is_after && mock_setting("MOCK_CUPTI_PC_KEEPS", 0) && c->kept)
		pc_fill(c, c->kept);
	for (uint32_t i = 0; is_after && i < pc_nr_cells; i++) {
		if (pc_cells[i].code->module == m->id && mock_setting("MOCK_CUPTI_PC_FORGETS", 0))
			pc_truth(&pc_cells[i], pc_reason(&pc_cells[i]), pc_cells[i].samples,
			         "lost");
		else
			pc_cells[left++] = pc_cells[i];
	}
	if (is_after)
		pc_nr_cells = left;
	pthread_mutex_unlock(&pc_mutex);
}

/* Data of a context is torn down when the tool knows. */
void cupti_pc_context_ends(struct CUctx_st *context)
{
	struct pc_context *c;

	pthread_mutex_lock(&pc_mutex);
	c = pc_of(context);
	if (c)
		c->is_on = false;
	pthread_mutex_unlock(&pc_mutex);
}

/* ---- the API */

CUDA_API uint32_t cuptiPCSamplingEnable(const struct mock_pc_params *p)
{
	const uint32_t error = (uint32_t)mock_setting("MOCK_CUPTI_PC_ENABLE_ERROR", 0);
	struct pc_context *c;

	if (p->size != sizeof(*p) || !p->context)
		return CUPTI_INVALID_PARAMETER;
	if (error)
		return error;
	pthread_mutex_lock(&pc_mutex);
	for (c = pc_contexts; c; c = c->next)
		if (c->is_on && c->context != p->context &&
		    c->context->device == p->context->device)
			pc_die("a second context of a device is sampled");
	c = pc_of(p->context);
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			abort();
		c->next = pc_contexts;
		pc_contexts = c;
	}
	*c = (struct pc_context){.next = c->next,
	                         .context = p->context,
	                         .is_on = true,
	                         .mode = MOCK_PC_CONTINUOUS,
	                         .period = 20};
	pthread_mutex_unlock(&pc_mutex);
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiPCSamplingDisable(const struct mock_pc_params *p)
{
	struct pc_context *c;

	if (p->size != sizeof(*p))
		return CUPTI_INVALID_PARAMETER;
	pc_check_launches();
	pthread_mutex_lock(&pc_mutex);
	c = pc_of(p->context);
	if (c && c->is_on) {
		pc_sample(c, 0);
		if (c->kept)
			pc_fill(c, c->kept);
		c->is_on = false;
	}
	pthread_mutex_unlock(&pc_mutex);
	return CUPTI_OK;
}

static uint32_t pc_set(struct pc_context *c, const struct mock_pc_setting *s)
{
	switch (s->attribute) {
	case MOCK_PC_PERIOD:
		c->period = s->value.number;
		return c->period >= 5 && c->period <= 31 ? CUPTI_OK : CUPTI_INVALID_OPERATION;
	case MOCK_PC_MODE:
		c->mode = s->value.number;
		return CUPTI_OK;
	case MOCK_PC_START_STOP:
		c->begins_by_hand = s->value.number;
		return CUPTI_OK;
	case MOCK_PC_BUFFER:
		c->kept = s->value.buffer;
		return CUPTI_OK;
	default:
		return CUPTI_OK;
	}
}

CUDA_API uint32_t cuptiPCSamplingSetConfigurationAttribute(struct mock_pc_settings *p)
{
	uint32_t rc = (uint32_t)mock_setting("MOCK_CUPTI_PC_SET_ERROR", 0);
	struct pc_context *c;

	if (p->size != sizeof(*p))
		return CUPTI_INVALID_PARAMETER;
	pthread_mutex_lock(&pc_mutex);
	c = pc_of(p->context);
	if (!c || !c->is_on)
		rc = CUPTI_INVALID_OPERATION;
	for (size_t i = 0; !rc && i < p->nr; i++)
		rc = p->settings[i].status = pc_set(c, &p->settings[i]);
	pthread_mutex_unlock(&pc_mutex);
	return rc;
}

CUDA_API uint32_t cuptiPCSamplingGetConfigurationAttribute(struct mock_pc_settings *p)
{
	return p->size == sizeof(*p) ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}

static uint32_t pc_start(const struct mock_pc_params *p, bool is_started)
{
	struct pc_context *c;
	uint32_t rc = CUPTI_INVALID_OPERATION;

	pc_check_launches();
	pthread_mutex_lock(&pc_mutex);
	c = p->size == sizeof(*p) ? pc_of(p->context) : NULL;
	if (c && c->is_on && c->begins_by_hand && c->is_started != is_started) {
		c->is_started = is_started;
		rc = CUPTI_OK;
	}
	pthread_mutex_unlock(&pc_mutex);
	return rc;
}

CUDA_API uint32_t cuptiPCSamplingStart(const struct mock_pc_params *p)
{
	return pc_start(p, true);
}

CUDA_API uint32_t cuptiPCSamplingStop(const struct mock_pc_params *p)
{
	return pc_start(p, false);
}

CUDA_API uint32_t cuptiPCSamplingGetData(const struct mock_pc_get *p)
{
	const uint64_t busy_us = mock_setting("MOCK_CUPTI_PC_GET_MS", 0) * 1000;
	uint32_t rc = (uint32_t)mock_setting("MOCK_CUPTI_PC_GET_ERROR", 0);
	struct pc_context *c;

	if (p->size != sizeof(*p) || !p->data || p->data->size != sizeof(*p->data))
		return CUPTI_INVALID_PARAMETER;
	usleep((useconds_t)busy_us);
	pthread_mutex_lock(&pc_mutex);
	c = pc_of(p->context);
	if (c && p->data == c->kept)
		pc_die("the configured buffer is used for reading");
	if (!rc && (!c || !c->is_on))
		rc = CUPTI_INVALID_OPERATION;
	if (!rc) {
		pc_sample(c, pc_late_ns());
		rc = c->is_full ? CUPTI_OUT_OF_MEMORY : CUPTI_OK;
	}
	if (!rc)
		pc_fill(c, p->data);
	else
		p->data->full = rc == CUPTI_OUT_OF_MEMORY;
	pthread_mutex_unlock(&pc_mutex);
	return rc;
}

CUDA_API uint32_t cuptiPCSamplingGetNumStallReasons(const struct mock_pc_nr_reasons *p)
{
	const struct pc_context *c = pc_of(p->context);

	if (p->size != sizeof(*p) || !c || !c->is_on)
		return CUPTI_INVALID_PARAMETER;
	*p->nr = PC_REASONS;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiPCSamplingGetStallReasons(const struct mock_pc_reasons *p)
{
	if (p->size != sizeof(*p) || p->nr < PC_REASONS)
		return CUPTI_INVALID_PARAMETER;
	/* In no order, as the real one. */
	for (uint32_t i = 0; i < PC_REASONS; i++) {
		const uint32_t reason = PC_REASONS - 1 - i;

		p->indices[i] = reason;
		snprintf(p->names[i], MOCK_PC_NAME_BYTES, "%s", pc_reasons[reason]);
	}
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiGetCubinCrc(struct mock_cubin_crc *p)
{
	if (p->size != sizeof(*p) || !p->cubin || !p->cubin_size)
		return CUPTI_INVALID_PARAMETER;
	p->crc = pc_crc(p->cubin, p->cubin_size);
	return CUPTI_OK;
}
