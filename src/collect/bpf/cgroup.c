#include "collect/bpf/cgroup.h"

#include <stdio.h>
#include <string.h>

enum { ID_DIGITS = 64, ID_SHOWN = 12 };

/* Before the id in a unit's name, or a part of the path above a bare one; the first that fits. */
static const struct {
	const char *mark, *engine;
} engines[] = {
    {"libpod", "podman"}, {"cri-containerd", "containerd"},
    {"crio", "cri-o"},    {"kubepods", "k8s"},
    {"docker", "docker"}, {"garden", "garden"},
};

/* The first run of digits that is long enough, or NULL. */
static const char *find_id(const char *path)
{
	while (*path) {
		size_t digits = strspn(path, "0123456789abcdef");
		if (digits >= ID_DIGITS)
			return path;
		path += digits ? digits : 1;
	}
	return NULL;
}

bool af_container_name(const char *cgroup, char *name, size_t size)
{
	const char *id = find_id(cgroup), *engine = "container";

	if (!id)
		return false;
	for (size_t k = 0; k < sizeof engines / sizeof *engines; k++) {
		const char *mark = strstr(cgroup, engines[k].mark);
		if (mark && mark < id) {
			engine = engines[k].engine;
			break;
		}
	}
	snprintf(name, size, "%s:%.*s", engine, ID_SHOWN, id);
	return true;
}
