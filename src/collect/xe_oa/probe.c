/* Whether the frequency and the activity of Intel's GPUs can be read here. */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/xe_oa/oa.h"
#include "collect/xe_oa/private.h"

enum { HEARTBEAT_NS = 100000000 };

int af_xe_oa_probe(char *words, size_t size, struct af_err *err)
{
	struct oa_counters c;
	struct af_buf b = {0};
	char name[64];
	int rc = 0;

	oa_find(&c, &af_xe_roots_usual, HEARTBEAT_NS);
	oa_describe(&c, &b);
	if (b.len)
		snprintf(words, size, "%s", b.data);
	else if (!c.cards.nr)
		rc = af_fail_plain(err, -ENODEV,
		                   "no GPU with the xe driver (/dev/dri): Linux 6.8 or later has "
		                   "it; a container needs --device /dev/dri");
	else
		rc = af_fail_plain(err, -ENODEV,
		                   "the driver shows no frequency of %s (in %s/%s/device/tile0/"
		                   "gt0/freq0)",
		                   af_xe_card_name(&c.cards.all[0], name, sizeof name),
		                   af_xe_roots_usual.drm, c.cards.all[0].node);
	af_buf_free(&b);
	oa_free(&c);
	return rc;
}
