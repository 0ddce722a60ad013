/*
 * A pass answers one question. It sees each wanted event of the whole trace once, in time order,
 * and leaves its findings when the trace ends. It holds no file, prints nothing, knows no
 * collector: all it may use comes from the event and from the world.
 */
#ifndef AF_ANALYSE_PASS_PASS_H
#define AF_ANALYSE_PASS_PASS_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/asked/asked.h"
#include "analyse/coverage/coverage.h"
#include "analyse/join/attribution.h"
#include "analyse/table/facts.h"
#include "analyse/tree/tree.h"
#include "analyse/world/samples.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"

struct af_code_names;
struct af_err;

/* A part of a node's self weight by time: that of one process, an ordinal of any of its images. */
struct af_cpu_part {
	uint32_t node, process;
	uint64_t ns;
};

/* What all passes together found. */
struct af_results {
	struct af_asked asked;
	/* Finished when all passes are. The one of both is left empty where it would be the same as
	 * another that was asked for too. */
	struct af_tree trees[AF_VIEWS];
	uint32_t has[AF_VIEWS]; /* bits of the tree's weights that were not zero, asked for or not;
	                           known of those trees whose pass ran */
	/* Whose time the tree of AF_VIEW_CPU has, as its frames of processes do not tell two of one
	 * name apart; where all tables are asked for. */
	struct af_cpu_part *cpu_parts;
	uint32_t nr_cpu_parts, cap_cpu_parts;
	char count_unit[48]; /* what the weight count of the trees is of, where a trace says so */
	bool summed;         /* the trace has what another profiler added up: see SUMMED */
	struct af_facts facts;
	struct af_facts annotated;   /* kernels, each the tables that af_annotate() makes */
	struct af_coverage coverage; /* of tables, the top and itself */
	/* Launches and work that do not belong together, when a pass takes work: see launches.h. */
	uint64_t launches_unfinished, works_failed, works_unlaunched, works_unstamped,
	    works_unknown, works_matched, calls_seen_alone;
	/* Samples of instructions of all devices, when a pass asks for them. The first two are for
	 * finish() alone; NULL when there are no samples. */
	const struct af_attribution *attribution;
	struct af_code_names *code_names;
	struct af_sampled_device sampled; /* the sums */
	uint64_t start_ns;                /* of the trace: what times are shown relative to */
	uint64_t shown_ns;  /* how long what is asked for lasted, without what was not recorded */
	uint64_t nr_events; /* that were read */
	uint64_t lost[AF_LOST_END]; /* as the trace says, by reason */
	char damage[768];           /* of the trace, in one line; "" for none */
};

struct af_pass_ops {
	const char *name;
	const char *question;
	uint32_t answers; /* as in struct af_asked: it does not run where none of these is asked */
	uint32_t attributes; /* for which of these finish() looks at samples of instructions */
	size_t state_size;   /* zeroed and passed as @self */
	uint64_t wants; /* bits 1 << AF_KIND_… for event(); what the world wants comes anyway */

	void (*event)(void *self, const struct af_world *w, const struct af_event *ev);
	/* CPU samples, as all who saw them agree: in place of the events that they are made of. */
	void (*sample)(void *self, const struct af_world *w, const struct af_sample *s);
	/*
	 * Device work of all APIs with the call that asked for it, in about the order in which it
	 * ended. Who calls af_work_place() on a copy has AF_KIND_CLOCK among its wants.
	 */
	void (*work)(void *self, const struct af_world *w, const struct af_work *work);
	void (*finish)(void *self, const struct af_world *w, struct af_results *out);
	void (*close)(void *self);
};

extern const struct af_pass_ops af_pass_flame;
extern const struct af_pass_ops af_pass_wakers;
extern const struct af_pass_ops af_pass_blocked;
extern const struct af_pass_ops af_pass_annotated;
extern const struct af_pass_ops af_pass_devices;
extern const struct af_pass_ops af_pass_calls;
extern const struct af_pass_ops af_pass_memory;
extern const struct af_pass_ops af_pass_idle;
extern const struct af_pass_ops af_pass_coverage;
extern const struct af_pass_ops af_pass_who;
extern const struct af_pass_ops af_pass_run;
extern const struct af_pass_ops af_pass_sampled;

/*
 * Read the trace in @dir once and run those of @passes (NULL-terminated) that answer what is @asked
 * over it, in order. @progress (may be NULL) gets bytes done and bytes in all. The results are the
 * caller's to close, also after a failure.
 */
int af_analyse(const char *dir, const struct af_pass_ops *const *passes,
               const struct af_asked *asked, struct af_results *out,
               void (*progress)(void *arg, uint64_t done, uint64_t size), void *arg,
               struct af_err *err);

/* Free the trees and tables of @r. Call it after af_analyse() failed as well. */
void af_results_close(struct af_results *r);

#endif
