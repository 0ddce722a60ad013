/*
 * Names of containers, from the control groups of their processes.
 */
#ifndef AF_COLLECT_BPF_CGROUP_H
#define AF_COLLECT_BPF_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * @cgroup is a path as /proc/PID/cgroup has it (cgroups(7)). Engines put a container's id there, 64
 * hexadecimal digits, alone (/docker/ID, /kubepods/…/ID) or in the name of a systemd unit
 * (docker-ID.scope). @name becomes "engine:" and the first twelve digits, as engines show them.
 * False: not in a container.
 */
bool af_container_name(const char *cgroup, char *name, size_t size);

#endif
