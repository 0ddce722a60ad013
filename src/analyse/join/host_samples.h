/*
 * CPU samples in device code, of devices that are the host: PoCL's worker threads run the kernels.
 * They are handed to the attribution like samples of any device.
 *
 *	{ af_host_samples_take }* → af_host_samples_free
 */
#ifndef AF_ANALYSE_JOIN_HOST_SAMPLES_H
#define AF_ANALYSE_JOIN_HOST_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

struct af_attribution;
struct af_sample;
struct af_world;

struct af_host_samples {
	/* private: by call path of the world, index of w->host_codes plus 1, 0: not known yet */
	uint32_t *by_path;
	uint32_t nr;
};

/*
 * Hand @s over, to @a unless that is NULL, if it is in device code; returns whether it is. The
 * world has read host code.
 */
bool af_host_samples_take(struct af_host_samples *h, const struct af_world *w,
                          struct af_attribution *a, const struct af_sample *s);

/* A zeroed struct is empty. */
void af_host_samples_free(struct af_host_samples *h);

#endif
