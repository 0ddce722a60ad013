/*
 * Samples of addresses, which tell neither process nor code: who lay there?
 *
 *	placements.c  where code of processes lies, and from when until when
 *	devices.c     which devices of processes are the one that was sampled
 *	addresses.c   the windows of devices, with their rows, until they are joined
 *	resolve.c     rows to the code that lay there, and to the launch groups that ran it
 *	waiting.c     rows that found nothing yet
 *
 * Only the room's own files use it: attribution.c calls _take, _event and _settle. The rows are of
 * the recorder's process, 0.
 */
#ifndef AF_ANALYSE_ATTRIBUTION_ADDRESSES_H
#define AF_ANALYSE_ATTRIBUTION_ADDRESSES_H

#include "analyse/attribution/private.h"
#include "base/keys.h"

struct af_event;

/* Code of a process that lies somewhere. */
struct address_placement {
	uint32_t process, code, device; /* as the process numbers them */
	uint64_t address, size;
	uint64_t from_ns, to_ns; /* to_ns: UINT64_MAX while it is there */
};

struct address_placements {
	struct address_placement *all;
	struct af_keys by_code; /* process, device, code, address → the latest, plus 1 */
	uint32_t nr, cap;
	uint32_t version; /* counts changes */
};

/* A placement in a segment, until another one of its process takes its place. */
struct address_candidate {
	uint32_t placement;
	uint64_t to_ns;
};

/* A stretch of addresses, up to the next one's start, where the same placements lie. */
struct address_segment {
	uint64_t start;
	uint32_t first, nr; /* of the candidates */
	/* The code that its samples belong to in the epoch: of the world, or an alias; 0: none. */
	uint32_t epoch, code;
	uint64_t base;
};

enum { ADDRESS_NEAR_BITS = 10 };

struct address_index {
	struct address_segment *segments;
	struct address_candidate *candidates;
	uint32_t nr_segments, cap_segments, nr_candidates, cap_candidates;
	uint32_t version; /* of the placements that it was made of; 0: never made */
	bool is_32;       /* by the low 32 bits of addresses */
	/* The segment last found for addresses nearby: a hint, by a hash of them. */
	uint32_t near[1 << ADDRESS_NEAR_BITS];
};

struct address_row {
	uint64_t address;
	uint32_t stall; /* as the recorder numbers them */
	uint32_t count;
};

struct address_rows {
	struct address_row *all;
	uint32_t nr, cap;
};

/* A window, or several joined: rows in order that found nothing, and the work that ran then. */
struct address_epoch {
	struct attribution_window is; /* its times and flags */
	struct address_rows rows;
	struct address_launches {
		uint32_t launch_group;
		struct attribution_ran ran;
	} * ran;
	uint32_t nr_ran, cap_ran;
};

/* Epochs of a device that wait, in order of time. */
struct address_waiting {
	struct address_epoch *epochs;
	uint32_t nr, cap;
	uint64_t nr_rows;
	uint32_t version; /* of the placements when they were last tried */
};

struct address_window {
	struct attribution_window is; /* place: of the device, plus 1; without counts of its own */
	struct address_rows rows;
};

/* A device that was sampled: of the recorder's process. */
struct address_device {
	uint32_t place, id;
	uint64_t near_ns;
	uint32_t *windows; /* that have rows */
	uint32_t nr_windows, cap_windows;
	/* Index 1 is for windows whose addresses have 32 bits: the two do not mix. */
	struct address_index index[2];
	struct address_waiting waiting[2];
	/* The places of processes that are this device, and their works that are being joined. */
	struct address_linked {
		uint32_t place;
		struct attribution_active active;
	} * linked;
	uint32_t nr_linked, cap_linked;
};

struct attribution_addresses {
	struct address_placements placements;
	struct address_device *devices;
	struct address_window *windows;
	struct af_map by_window; /* id → index of windows */
	uint32_t nr_devices, cap_devices, nr_windows, cap_windows;
	uint32_t last, last_id; /* the window of the latest row, and its id */
	/* Memory for rows of windows, none of which has any; and for how many. */
	struct address_rows *spare;
	uint32_t nr_spare, cap_spare, spare_rows;
	uint64_t need_ns; /* works that ended before it are not needed any more */
};

/* Is @ev one that _event wants: of placements, or of the recorder's windows and their rows? */
bool attribution_addresses_take(const struct af_event *ev);
void attribution_addresses_event(struct af_attribution *a, const struct af_world *w,
                                 const struct af_event *ev);

/* As attribution_settle(), for all devices that were sampled; before it. */
void attribution_addresses_settle(struct af_attribution *a, const struct af_world *w,
                                  uint64_t until_ns, bool last);

/* Works that ended before it are not needed any more. */
uint64_t attribution_addresses_need_ns(const struct attribution_private *p);

/* Free all of it; there may be none. */
void attribution_addresses_free(struct attribution_private *p);

/* placements.c. _event: CODE_PLACED of @process. */
void address_placements_event(struct address_placements *all, uint32_t process, uint64_t time_ns,
                              const struct af_ev_code_placed *ev);
void address_placements_free(struct address_placements *all);

/*
 * Make the index of the placements on the device numbered @device of the recorder's process, unless
 * it is made. _find: the segment that has @address, NULL for none.
 */
void address_index_make(struct address_index *index, const struct address_placements *all,
                        const struct af_world *w, uint32_t device);
struct address_segment *address_index_find(struct address_index *index, uint64_t address);
void address_index_free(struct address_index *index);

/*
 * Give the rows of @win to the launch groups that ran their code, of the work that is touched. Rows
 * that find nothing stay; true when there are any.
 */
bool address_resolve(struct af_attribution *a, const struct af_world *w,
                     struct address_device *device, const struct attribution_window *win,
                     struct address_rows *rows);

/* Give them up: they are unattributed. */
void address_give_up(struct af_attribution *a, const struct af_world *w,
                     struct address_device *device, const struct attribution_window *win,
                     struct address_rows *rows);

/*
 * Rows of @win wait, with the work that is touched; @rows is empty then. _touch: the work of then,
 * in an epoch of its own.
 */
void address_wait(struct attribution_private *p, struct address_waiting *to,
                  const struct attribution_window *win, struct address_rows *rows);
void address_epoch_touch(struct attribution_private *p, const struct address_epoch *e);

/* Forget the epochs without rows. */
void address_waiting_tidy(struct address_waiting *of);
void address_waiting_free(struct address_waiting *of);

#endif
