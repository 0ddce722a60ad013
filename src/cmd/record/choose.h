/*
 * Chooses what records inside the program: the sampler, and the APIs whose calls are recorded.
 * Options that make no sense fail with -EINVAL and a message.
 */
#ifndef AF_CMD_RECORD_CHOOSE_H
#define AF_CMD_RECORD_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

struct af_err;
struct af_record_options;
struct af_recording;
struct af_session_options;

/*
 * Fill s->sample_period_ns and s->cpu_mode by --sample and --rate; @why gets the words for the
 * user. Fails too when the sampler that --sample names does not work here.
 */
int af_choose_sampler(const struct af_record_options *o, struct af_session_options *s, char *why,
                      size_t size, struct af_err *err);

/* --sample for the CPU: "auto" where it names a collector of devices, which comes on top. */
const char *af_cpu_sampler_of(const struct af_record_options *o);

/* Does the list @list of --api name the API @name, at whatever level? NULL names all. */
bool af_api_is_chosen(const char *list, const char *name);

/* The same where nothing but its own name counts. */
bool af_api_is_named(const char *list, const char *name);

/* Does it name @name, or all, with a level above minimal? */
bool af_api_is_traced_by(const char *list, const char *name);

/*
 * Fill s->how and s->metadata by the levels of --api, and s->tsc; the two last as long as the
 * program. MPI's calls are among them where s->mpi_library is set, Level Zero's where
 * s->ze_library is.
 */
int af_choose_calls(const struct af_record_options *o, struct af_session_options *s,
                    struct af_err *err);

/* For s->switch_calls: "on cuMem*" or "off clGet*". */
bool af_switch_calls(struct af_recording *r, const char *words, char *text, size_t size);

/*
 * Fill s->flags by --api, --cuda-graphs, --autograd and --gpu-samples, and s->devices. A layer does
 * no harm where there is no OpenCL or CUDA, so the default needs no probe.
 */
int af_choose_apis(const struct af_record_options *o, struct af_session_options *s,
                   struct af_err *err);

#endif
