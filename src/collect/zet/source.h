/*
 * In the parent: the child of a source that samples devices by Level Zero, the devices that it
 * names, and what fails in it. What it sends beside that is the user's.
 */
#ifndef AF_COLLECT_ZET_SOURCE_H
#define AF_COLLECT_ZET_SOURCE_H

#include "base/buf.h"
#include "collect/xe/cards.h"
#include "collect/zet/private.h"

struct af_recording;

struct zet_source {
	struct af_recording *r;
	const char *key; /* of its notes: "collector.zet" */
	struct zet_child child;
	struct zet_device known[ZET_DEVICES_MOST]; /* as the child numbers them, from 1 */
	uint32_t nr_known;
	uint32_t missing;
	bool ready, on, ended;
	bool quiet;           /* failures are notes: the user has a line already */
	bool got_any;         /* something was sampled */
	struct af_buf failed; /* "GPU …: why; " */
	uint32_t nr_failures;
	/* Takes a message of another kind than all sources have. */
	void (*take)(void *user, const struct zet_head *head);
	void *user;
};

/*
 * Start the child with @run(z, arg), and wait until the driver is ready, for some seconds at most.
 * The fields from r to key, and quiet, take and user are set. False: a note says why not.
 */
bool zet_source_start(struct zet_source *s, void (*run)(struct zet_api *z, void *arg), void *arg);

/* Switch the child on and off with the session's state, and take what it sent. */
void zet_source_pump(struct zet_source *s);

/* The child reads what is left and ends; take all that it sent. */
void zet_source_stop(struct zet_source *s);

/* End the child, if need be, and free what the source has. */
void zet_source_close(struct zet_source *s);

/* NULL: the child knows no such device. */
const struct zet_device *zet_source_device(const struct zet_source *s, uint32_t device);

/* The device as the trace has it; @layout: of the rows that it gives, 0: none. */
void zet_source_card(const struct zet_source *s, const struct zet_device *d, uint32_t layout,
                     struct af_xe_card *card);

/* It is a NOTE, and a line for the user. @name: of the device, "": of none. */
void zet_source_failed(struct zet_source *s, const char *name, const char *why);

#endif
