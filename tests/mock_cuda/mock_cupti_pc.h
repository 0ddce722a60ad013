/*
 * The structures of CUPTI's PC sampling (NVIDIA, cupti_pcsampling.h), apart from the collector's
 * own so that one is checked against the other, and the calls by which the mock's other files drive
 * the sampling.
 *
 * Environment, beside that of mock_cupti.h:
 *
 *	MOCK_CUPTI_PC_ENABLE_ERROR, _SET_ERROR, _GET_ERROR
 *	                         what those functions return
 *	MOCK_CUPTI_PC_LATE_MS    how long after they were taken samples can be read (20)
 *	MOCK_CUPTI_PC_GET_MS     reading takes so long
 *	MOCK_CUPTI_PC_ROUND      at most so many instructions are given at once
 *	MOCK_CUPTI_PC_FULL       the device's buffer is full after so many samples
 *	MOCK_CUPTI_PC_FORGETS    1: samples of a module that has gone are lost if not read before
 *	MOCK_CUPTI_PC_KEEPS      1: they are put into the configured buffer as it goes
 *	MOCK_CUPTI_PC_LAUNCH_US  a launch takes so long
 *	MOCK_CUPTI_PC_TRUTH      a file that gets what was sampled (cupti_pc.c)
 */
#ifndef MOCK_CUPTI_PC_H
#define MOCK_CUPTI_PC_H

#include "mock_cuda.h"

enum { MOCK_PC_PERIOD = 1, MOCK_PC_MODE = 5, MOCK_PC_START_STOP = 6, MOCK_PC_BUFFER = 8 };
enum { MOCK_PC_CONTINUOUS = 1, MOCK_PC_SERIALIZED = 2, MOCK_PC_NAME_BYTES = 128 };

struct mock_pc_stall {
	uint32_t index, samples;
};

struct mock_pc {
	size_t size;
	uint64_t crc, offset;
	uint32_t function, pad;
	const char *name;
	size_t nr_stalls;
	struct mock_pc_stall *stalls;
	uint32_t correlation;
};

struct mock_pc_data {
	size_t size, nr_max;
	uint64_t samples, dropped;
	size_t nr, nr_remaining;
	uint64_t range;
	struct mock_pc *pcs;
	uint64_t other;
	uint8_t full;
};

struct mock_pc_setting {
	uint32_t attribute, status;
	union {
		uint64_t data[3];
		uint32_t number;
		void *buffer;
	} value;
};

struct mock_pc_settings {
	size_t size;
	void *private;
	struct CUctx_st *context;
	size_t nr;
	struct mock_pc_setting *settings;
};

struct mock_pc_params {
	size_t size;
	void *private;
	struct CUctx_st *context;
};

struct mock_pc_get {
	size_t size;
	void *private;
	struct CUctx_st *context;
	struct mock_pc_data *data;
};

struct mock_pc_nr_reasons {
	size_t size;
	void *private;
	struct CUctx_st *context;
	size_t *nr;
};

struct mock_pc_reasons {
	size_t size;
	void *private;
	struct CUctx_st *context;
	size_t nr;
	uint32_t *indices;
	char **names;
};

struct mock_cubin_crc {
	size_t size, cubin_size;
	const void *cubin;
	uint64_t crc;
};

void cupti_pc_work(const struct mock_work *work);
void cupti_pc_context_ends(struct CUctx_st *context);
/* A launch begins (1), or is over (-1). */
void cupti_pc_launching(int change);
void cupti_pc_module(const struct mock_module_data *m);
/* Before, and after, the tool is reported that it goes. */
void cupti_pc_unload(struct CUctx_st *context, const struct mock_module_data *m, bool is_after);

#endif
