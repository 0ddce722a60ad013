/*
 * Output that is too large to be built before it is written. Text or bytes are added to `text` and
 * written in large pieces, compressed (gzip, RFC 1952) on request.
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
	int rc; /* 0 or -errno: the first error of writing */

	struct out_gzip *gzip; /* private, NULL when it is not compressed */
};

/* Write to @fd, which stays the caller's. o->rc is -ENOMEM when zlib has no memory. */
void af_out_open(struct af_out *o, int fd, bool gzip);

/* Write `text` when it has become large. Returns o->rc. */
int af_out_spill(struct af_out *o);

/* Write the rest and free all. 0 or -errno. */
int af_out_close(struct af_out *o);

#endif
