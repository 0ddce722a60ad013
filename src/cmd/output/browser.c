#include "cmd/output/browser.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/system/rights.h"
#include "base/system/tool.h"

/* One that takes longer is a browser itself, and stays. */
enum { BROWSER_WAIT_MS = 3000 };

/* Why no browser of the user's can be reached from here; NULL when one may be. */
static const char *browser_refusal(const char *chosen)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	uid_t uid;
	gid_t gid;

	if (af_sudo_user(&uid, &gid))
		return "a browser is not started under sudo: `aflame open` without it";
	if (!chosen && !(x && *x) && !(wayland && *wayland))
		return "there is no display here: copy the file to where your browser is, or name "
		       "one in $BROWSER";
	return NULL;
}

int af_browser_open(const char *file, struct af_err *err)
{
	const char *set = getenv("BROWSER"), *chosen = set && *set ? set : NULL;
	const char *refusal = browser_refusal(chosen);
	char path[PATH_MAX];

	if (!realpath(file, path))
		return af_fail(err, -errno, "%s", file);
	if (refusal)
		return af_fail_plain(err, -ENOTSUP, "%s is not shown: %s", path, refusal);
	const char *const argv[] = {chosen ? chosen : "xdg-open", path, NULL};
	int rc = af_tool_start(argv, BROWSER_WAIT_MS);
	if (rc < 0)
		return af_fail(err, rc, "%s is not shown: cannot start %s (set $BROWSER)", path,
		               argv[0]);
	return rc ? af_fail_plain(err, -EIO, "%s is not shown: %s ended with status %d", path,
	                          argv[0], rc)
	          : 0;
}
