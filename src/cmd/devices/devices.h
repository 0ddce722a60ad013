/*
 * Chooses what samples devices from outside the program, by --sample and --gpu-samples. A --sample
 * is a list of words with commas: one way to sample the CPU at most, and collectors of devices,
 * which come on top. What makes no sense fails with -EINVAL and a message.
 */
#ifndef AF_CMD_DEVICES_DEVICES_H
#define AF_CMD_DEVICES_DEVICES_H

#include <stdbool.h>

struct af_err;
struct af_session_options;

/* The way to sample the CPU in @sample, "auto" where it names none: a text that stays. */
const char *af_cpu_sampler_named(const char *sample);

/*
 * Fill s->devices and what goes with them. @gpu_samples: a rate, "exact", or NULL. Fails, too, when
 * a collector that is named does not work here.
 */
int af_choose_devices(const char *sample, const char *gpu_samples, struct af_session_options *s,
                      struct af_err *err);

/*
 * "NAME[=MS],…": counters that are read over time, see collect/telemetry/telemetry.h. A source that
 * is named and has nothing here fails where @strict, else the trace notes it.
 */
int af_choose_telemetry(const char *list, bool strict, struct af_session_options *s,
                        struct af_err *err);

/*
 * "GROUP", or "GROUP@1/N": which launches of Level Zero are measured, into s->launch_metrics and
 * what is beside it. A group that no device has is noted there, and fails where @strict.
 */
int af_choose_launch_metrics(const char *how, bool strict, struct af_session_options *s,
                             struct af_err *err);

#endif
