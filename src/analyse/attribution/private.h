/*
 * Shared by the files of attribution: the held data, and the scratch memory of joining.
 */
#ifndef AF_ANALYSE_ATTRIBUTION_PRIVATE_H
#define AF_ANALYSE_ATTRIBUTION_PRIVATE_H

#include "analyse/attribution/attribution.h"
#include "analyse/world/time_range.h"
#include "base/keys.h"

#define PHASE_STEP 0x9e3779b9u /* 2^32 by the golden ratio */

/* A work, on the trace's clock. Without times of the device: when it was asked for, and end 0. */
struct attribution_piece {
	uint64_t start_ns, end_ns;
	uint32_t launch_group;
	uint32_t correlation; /* low half of its call's number */
};

/* Samples as in an event: ids are the process's, whose definitions may come later. */
struct attribution_count {
	uint32_t code, stall, offset, correlation, count;
};

struct attribution_window {
	uint32_t process, place; /* place: 0 until the window's own event comes */
	uint32_t flags;
	bool tried;  /* an attempt to join the rest found nothing */
	bool listed; /* it is among the held windows of its place */
	uint64_t start_ns, end_ns;
	struct attribution_count *counts;
	uint32_t nr, cap;
};

/* A device: devices[] has the same index. */
struct attribution_place {
	uint32_t launch_group; /* of samples that find no work */
	struct attribution_piece *pieces;
	uint32_t *windows; /* that are held */
	struct af_host_sample *hosts;
	uint32_t nr_pieces, cap_pieces, nr_sorted, nr_windows, cap_windows, nr_hosts, cap_hosts;
	bool late;        /* a work came that began before settled_ns */
	uint64_t near_ns; /* the greatest distance from a window that counts as near */
	uint64_t settled_ns;
};

/* How long something ran: in all, before the time range, and in it: within.h. */
struct attribution_span {
	uint64_t all_ns, before_ns, in_range_ns;
};

/*
 * The stretch [@start_ns, @end_ns) as the time range @in cuts it: all of it, the part before, the
 * part within. _add sums stretches; sums that would overflow stay at the maximum.
 */
struct attribution_span attribution_span_of(const struct af_time_range *in, uint64_t start_ns,
                                            uint64_t end_ns);
void attribution_span_add(struct attribution_span *to, const struct attribution_span *more);

/*
 * The work of a launch group as of one window: the time that it ran within; the time of works near
 * it; and of works without times those that were asked for by then, as if each had run for 1 ns.
 */
struct attribution_ran {
	struct attribution_span busy, near, launched;
};

struct attribution_seen {
	uint32_t epoch; /* number of the joining to which the rest belongs */
	uint32_t next;  /* launch group of the same kernel, plus 1 */
	struct attribution_ran ran;
};

/* All launch groups of a kernel: plus 1, the next of the same kernel; its works without times. */
struct attribution_always {
	uint32_t next;
	struct attribution_span launched;
};

struct attribution_kernel {
	uint32_t epoch, first; /* launch group, plus 1 */
	uint32_t always;       /* the first of all launch groups, plus 1 */
};

struct attribution_share {
	uint32_t launch_group;
	uint32_t member; /* of an alias */
	struct attribution_span span;
};

/* The launch groups to which samples of one code go. */
struct attribution_choice {
	uint32_t epoch;
	uint32_t first, nr;           /* of the shares */
	bool exact, recorded;         /* recorded: belongs to works */
	bool launches;                /* the span counts launches: there are no times */
	bool near;                    /* its works ran beside the window, not in it */
	bool shared;                  /* code of several processes lay there */
	struct attribution_span span; /* of all of them */
	/*
	 * The group among the sums, and how many samples are still to be divided among the shares.
	 */
	uint32_t group; /* plus 1, 0: none yet */
	uint64_t count;
};

/* Pieces of a place that reach into what is being joined; all until @next have been looked at. */
struct attribution_active {
	uint32_t *pieces;
	uint32_t nr, cap, next;
};

/* Code of one process where that of others lies, too. */
struct attribution_alias_code {
	uint64_t base;  /* where it lies */
	uint32_t code;  /* of w->codes */
	uint32_t is_32; /* 1: addresses have 32 bits */
};

/* A set of these, [first, first + nr) of alias_codes, stands for a code among the sums. */
struct attribution_alias {
	uint32_t first, nr;
	struct attribution_choice choice; /* of one epoch */
};

enum { ATTRIBUTION_ALIAS = 1u << 31 }; /* it is no code: an index of aliases */

struct attribution_private {
	struct attribution_addresses *addresses; /* addresses.h; NULL: there were none */
	struct attribution_place *stack_locations;
	struct attribution_window *windows;
	uint32_t cap_stack_locations, nr_windows, cap_windows, cap_launch_groups, cap_found;
	struct attribution_sums *sums;
	struct attribution_counts *counts; /* counts.c */
	struct af_map by_place, by_window;
	struct af_keys by_launch_group;
	struct af_map by_name; /* process and name of a kernel → index of kernels */
	bool last;             /* nothing more comes: launches without times are better than none */
	uint32_t last_launch_group;
	uint32_t interval; /* whose samples are being joined */
	uint32_t last_interval;
	uint64_t now_ns, settled_ns;
	uint64_t held, works; /* counts; pieces */

	/* by launch group, by kernel, by code */
	struct attribution_seen *seen;
	struct attribution_kernel *kernels;
	struct attribution_choice *choices;
	struct attribution_always *always; /* by launch group */
	uint32_t *kernel_of;               /* by launch group */
	uint32_t nr_kernels, cap_kernels, cap_seen, cap_always, nr_choices;

	/* of one joining */
	uint32_t epoch;
	struct attribution_share *shares;
	struct attribution_active active;
	uint32_t *touched; /* launch groups */
	uint32_t *chosen;  /* codes, and aliases */
	uint32_t nr_shares, cap_shares, nr_touched, cap_touched, nr_chosen, cap_chosen;

	struct attribution_alias *aliases;
	struct attribution_alias_code *alias_codes;
	struct af_keys by_alias;
	uint32_t nr_aliases, cap_aliases, nr_alias_codes, cap_alias_codes;
};

/* The place of the process's device, made where it is new. */
uint32_t attribution_place_of(struct af_attribution *a, uint32_t process, uint32_t device);

/* Add a window to what is known of its device. */
void attribution_device_window(struct af_sampled_device *d, const struct af_time_range *in,
                               const struct af_ev_gpu_window *win);

/* The works of a place in order of time, as what follows needs them. */
void attribution_sort(struct attribution_place *place);

/*
 * Pieces that begin before @end_ns become active; those that ended before @start_ns are dropped.
 * Both times only ever grow. _touch: active pieces, as they are to a window of these times; near
 * is what is within @near_ns of it. Others of the epoch stay touched.
 */
void attribution_activate(struct attribution_active *active, const struct attribution_place *place,
                          uint64_t start_ns, uint64_t end_ns);
void attribution_touch_active(struct attribution_private *p, const struct af_time_range *in,
                              const struct attribution_place *place,
                              const struct attribution_active *active, uint64_t near_ns,
                              const struct attribution_window *win);

/* @ns later than @time_ns, or as late as can be. */
static inline uint64_t attribution_later(uint64_t time_ns, uint64_t ns)
{
	return time_ns > UINT64_MAX - ns ? UINT64_MAX : time_ns + ns;
}

/* How near to the window works are kept for it, if the longest window before had @near_ns. */
uint64_t attribution_near(const struct attribution_window *win, uint64_t near_ns);

/*
 * Join the held windows of @place that end before @until_ns. With @all, samples that find nothing
 * become unattributed.
 */
void attribution_settle(struct af_attribution *a, const struct af_world *w, uint32_t place,
                        uint64_t until_ns, bool all);

/* Give the rest of @win to the samples without work of @place, which is its process's. */
void attribution_give_up(struct af_attribution *a, const struct af_world *w, uint32_t place,
                         const struct attribution_window *win);

/*
 * The launch groups for samples of the process's @code, in the window whose works are touched. NULL
 * when no touched work ran the code. Valid until the next epoch.
 */
struct attribution_choice *attribution_choose(struct af_attribution *a, const struct af_world *w,
                                              uint32_t code);

/* The same for the shares from @first on, as they are. */
struct attribution_choice attribution_among(const struct af_attribution *a, uint32_t first);

/*
 * The launch groups for samples where several codes lie: @nr of them, each of which touched work
 * ran, at least two. Returns an index of aliases; its choice is valid until the next epoch.
 */
uint32_t attribution_choose_alias(struct af_attribution *a, const struct af_world *w,
                                  const struct attribution_alias_code *codes, uint32_t nr);

/* The choice of @code, or of an alias, in this epoch. */
static inline struct attribution_choice *attribution_choice_of(struct attribution_private *p,
                                                               uint32_t code)
{
	return code & ATTRIBUTION_ALIAS ? &p->aliases[code & ~ATTRIBUTION_ALIAS].choice
	                                : &p->choices[code];
}

/* @f has an alias as its code, and an address: it gets the code and the offset of the member. */
void attribution_alias_member(const struct attribution_private *p, uint32_t member,
                              struct af_attributed *f);

/*
 * _epoch begins an epoch with nothing touched. _touch: @launch_group ran so much. _divide_all: at
 * the end of an epoch, what was put to its choices.
 */
void attribution_epoch(struct attribution_private *p);
void attribution_touch(struct attribution_private *p, uint32_t launch_group,
                       const struct attribution_ran *ran);
void attribution_divide_all(struct attribution_private *p);
void attribution_share(struct attribution_private *p, uint32_t launch_group,
                       const struct attribution_span *span);

struct attribution_put {
	uint32_t place, code, stall, count; /* as the world has them; code: or an alias */
	uint64_t offset;
	bool cut;       /* the window crosses an end of the time range */
	uint32_t phase; /* selects which of them are within it: see attribution_portion() */
};

/*
 * How many of @count samples are in the time range, when the sampled code ran for @span: its
 * proportional part, rounded up or down by @phase, which differs for each instruction. The portions
 * of adjacent ranges add up to @count.
 */
uint32_t attribution_portion(const struct attribution_span *span, uint32_t count, uint32_t phase);

/* The reason @stall of the world as results have it. */
struct attribution_reason {
	uint32_t stall;
	bool latency; /* nothing was issued meanwhile: not a sample of its own */
	bool known;   /* this was filled in */
};
struct attribution_reason attribution_reason(const struct af_world *w, uint32_t stall);

/*
 * Give samples in the time range to @choice, to be divided among its launch groups later.
 * _joined_all: samples that were added to choices of the epoch otherwise are samples of @d, too.
 */
void attribution_put(struct af_attribution *a, const struct af_world *w,
                     struct attribution_choice *choice, const struct attribution_put *what);
void attribution_joined_all(struct attribution_private *p, struct af_sampled_device *d, bool cut);

/* Give them to the launch group of @put's place that is no work's, which had @span for them. */
void attribution_put_nobody(struct af_attribution *a, const struct af_world *w,
                            const struct attribution_put *put, const struct attribution_span *span);

/* Divide the samples put to @choice since the last time. */
void attribution_divide_choice(struct attribution_private *p, struct attribution_choice *choice);

/* Samples that are joined next were taken until @time_ns; call it before an epoch has choices. */
void attribution_at(struct af_attribution *a, const struct af_world *w, uint64_t time_ns);

/*
 * Sums: a group for each set of launch groups that share samples of a code in an interval; its
 * samples; and the number of samples divided among its launch groups with the weights of @choice.
 * _expand turns all of it into a->found at the end.
 */
uint32_t attribution_group(struct attribution_private *p, uint32_t code,
                           const struct attribution_choice *choice);
void attribution_divide(struct attribution_private *p, uint32_t group,
                        const struct attribution_choice *choice, uint64_t count);
void attribution_expand(struct af_attribution *a);
/* Are there too many sums to be kept apart? _widen: two intervals become one. */
bool attribution_sums_many(const struct attribution_private *p);
void attribution_sums_widen(struct attribution_private *p);
void attribution_sums_free(struct attribution_private *p);

/* Samples of an instruction for one reason, of a group of the sums. */
struct attribution_sampled {
	uint64_t offset, count;
	uint32_t group, stall;
	bool latency; /* nothing was issued meanwhile */
};

enum { ATTRIBUTION_SAMPLED = 64 };

/* All of them. */
struct attribution_counted {
	uint64_t offset, count, latency;
	uint32_t group, stall;
};

/*
 * Count @nr samples, at most ATTRIBUTION_SAMPLED; those of an instruction should be neighbours.
 * attribution_counted() gives all counts, in no order, to be freed, and forgets them. _nr: how many
 * there are.
 */
void attribution_count(struct attribution_private *p, const struct attribution_sampled *all,
                       uint32_t nr);
struct attribution_counted *attribution_counted(struct attribution_private *p, uint32_t *nr);
/* Samples of a group are of the group @now[group] from now on. */
void attribution_counts_regroup(struct attribution_private *p, const uint32_t *now);
uint32_t attribution_counts_nr(const struct attribution_private *p);
void attribution_counts_free(struct attribution_private *p);

/* To sort windows by. */
struct attribution_window_at {
	uint64_t start_ns;
	uint32_t window;
};

/* Windows in the order in which they begin, for AF_SORT: struct attribution_window_at. */
int attribution_window_order(const void *a, const void *b);

#endif
