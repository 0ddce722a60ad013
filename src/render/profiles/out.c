#include "render/profiles/out.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/write.h"

enum { OUT_PIECE = 256 << 10, OUT_GZIP = 16 /* added to the window's bits */ };

struct out_gzip {
	z_stream z;
	unsigned char piece[OUT_PIECE];
};

void af_out_open(struct af_out *o, int fd, bool gzip)
{
	*o = (struct af_out){.fd = fd};
	if (!gzip)
		return;
	o->gzip = af_xcalloc(1, sizeof *o->gzip);
	/* Level 4: files are large, and further levels take long for little. */
	if (deflateInit2(&o->gzip->z, 4, Z_DEFLATED, MAX_WBITS + OUT_GZIP, 9, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		o->rc = -ENOMEM;
}

static int out_deflate(struct af_out *o, int flush)
{
	struct out_gzip *g = o->gzip;

	g->z.next_in = (unsigned char *)o->text.data;
	g->z.avail_in = (unsigned)o->text.len;
	do {
		g->z.next_out = g->piece;
		g->z.avail_out = sizeof g->piece;
		deflate(&g->z, flush);
		int rc = af_write_all(o->fd, g->piece, sizeof g->piece - g->z.avail_out);
		if (rc)
			return rc;
	} while (!g->z.avail_out);
	o->text.len = 0;
	return 0;
}

static int out_write(struct af_out *o, int flush)
{
	if (!o->rc)
		o->rc = o->gzip ? out_deflate(o, flush) : af_buf_flush(&o->text, o->fd);
	o->text.len = 0;
	return o->rc;
}

int af_out_spill(struct af_out *o)
{
	return o->text.len < OUT_PIECE ? o->rc : out_write(o, Z_NO_FLUSH);
}

int af_out_close(struct af_out *o)
{
	int rc = out_write(o, Z_FINISH);

	if (o->gzip)
		deflateEnd(&o->gzip->z);
	free(o->gzip);
	af_buf_free(&o->text);
	*o = (struct af_out){.rc = rc};
	return rc;
}
