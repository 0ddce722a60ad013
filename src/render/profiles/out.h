/*
 * Output that is too large to be built before it is written: text or bytes are added to `text`,
 * and go out in large pieces, compressed (gzip, RFC 1952) where that is asked for.
 *
 *	af_out_open → { add to text → af_out_spill }* → af_out_close
 */
#ifndef AF_RENDER_PROFILES_OUT_H
#define AF_RENDER_PROFILES_OUT_H

#include <stdbool.h>

#include "base/buf.h"

struct af_out {
	struct af_buf text;
	int fd;
	int rc; /* 0 or -errno: what writing failed with first */

	struct out_gzip *gzip; /* private, NULL when it is not compressed */
};

/* Write to @fd, which stays the caller's. o->rc is -ENOMEM when zlib has no memory. */
void af_out_open(struct af_out *o, int fd, bool gzip);

/* Write what has come together, when it is much. Returns o->rc. */
int af_out_spill(struct af_out *o);

/* Write the rest and free all. 0 or -errno. */
int af_out_close(struct af_out *o);

#endif
