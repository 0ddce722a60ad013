/*
 * The part of CUPTI's PC sampling that is used, declared as in cupti.h (NVIDIA, cupti_pcsampling.h,
 * 12.4 and 13.0, which do not differ). Every structure contains its size, so that members that a
 * later CUPTI adds at its end are neither read nor written.
 *
 *	Enable(context), GetNumStallReasons, GetStallReasons, SetConfigurationAttribute, then
 *	GetData until nothing remains, now and then, and Disable
 */
#ifndef AF_INJECT_CUDA_CUPTI_PC_H
#define AF_INJECT_CUDA_CUPTI_PC_H

#include <stddef.h>
#include <stdint.h>

/* Samples of one instruction with one stall reason: CUpti_PCSamplingStallReason */
struct af_cupti_pc_stall {
	uint32_t index, samples;
} __attribute__((packed, aligned(8)));

/* CUpti_PCSamplingPCData */
struct af_cupti_pc {
	size_t size;
	uint64_t crc, offset;
	uint32_t symbol, pad;
	char *name;       /* shared by records, and with those of activities: never freed */
	size_t nr_stalls; /* room for them, then how many there are */
	struct af_cupti_pc_stall *stalls;
	uint32_t correlation;
} __attribute__((packed, aligned(8)));

/* CUpti_PCSamplingData */
struct af_cupti_pc_data {
	size_t size;
	size_t nr_max;
	uint64_t samples, dropped;
	size_t nr, nr_remaining;
	uint64_t range;
	struct af_cupti_pc *pcs;
	uint64_t other; /* samples in code of the driver's own */
	uint8_t full;
} __attribute__((packed, aligned(8)));

/* CUpti_PCSamplingConfigurationAttributeType */
enum af_cupti_pc_attribute {
	AF_CUPTI_PC_PERIOD = 1,
	AF_CUPTI_PC_SCRATCH_BYTES = 3,
	AF_CUPTI_PC_HARDWARE_BYTES = 4,
	AF_CUPTI_PC_MODE = 5,
	AF_CUPTI_PC_START_STOP = 6,
	AF_CUPTI_PC_BUFFER = 8,
	AF_CUPTI_PC_SLEEP_MS = 9,
};

/* CUpti_PCSamplingCollectionMode */
enum { AF_CUPTI_PC_CONTINUOUS = 1, AF_CUPTI_PC_SERIALIZED = 2 };

/* CUpti_PCSamplingConfigurationInfo */
struct af_cupti_pc_setting {
	uint32_t attribute;
	uint32_t status; /* CUPTI's answer for this one */
	union {
		uint64_t data[3];
		uint32_t number;
		size_t bytes;
		void *buffer;
	} value;
};

/* CUpti_PCSamplingConfigurationInfoParams */
struct af_cupti_pc_settings {
	size_t size;
	void *private;
	void *context;
	size_t nr;
	struct af_cupti_pc_setting *settings;
};

/* CUpti_PCSamplingEnableParams, …DisableParams, …StartParams, …StopParams */
struct af_cupti_pc_context {
	size_t size;
	void *private;
	void *context;
};

/* CUpti_PCSamplingGetDataParams */
struct af_cupti_pc_get {
	size_t size;
	void *private;
	void *context;
	struct af_cupti_pc_data *data;
};

/* CUpti_PCSamplingGetNumStallReasonsParams */
struct af_cupti_pc_nr_reasons {
	size_t size;
	void *private;
	void *context;
	size_t *nr;
};

/* CUpti_PCSamplingGetStallReasonsParams */
struct af_cupti_pc_reasons {
	size_t size;
	void *private;
	void *context;
	size_t nr;
	uint32_t *indices;
	char **names; /* AF_CUPTI_PC_NAME_BYTES each */
};

enum { AF_CUPTI_PC_NAME_BYTES = 128 };

/* CUpti_GetCubinCrcParams */
struct af_cupti_cubin_crc {
	size_t size;
	size_t cubin_size;
	const void *cubin;
	uint64_t crc;
};

/*
 * The functions: P(result, name, parameters). Absent ones leave the rest of CUDA as it is.
 */
#define AF_CUPTI_PC_FUNCTIONS(P)                                                                   \
	P(PCSamplingEnable, (struct af_cupti_pc_context * params))                                 \
	P(PCSamplingDisable, (struct af_cupti_pc_context * params))                                \
	P(PCSamplingStart, (struct af_cupti_pc_context * params))                                  \
	P(PCSamplingStop, (struct af_cupti_pc_context * params))                                   \
	P(PCSamplingGetData, (struct af_cupti_pc_get * params))                                    \
	P(PCSamplingSetConfigurationAttribute, (struct af_cupti_pc_settings * params))             \
	P(PCSamplingGetConfigurationAttribute, (struct af_cupti_pc_settings * params))             \
	P(PCSamplingGetNumStallReasons, (struct af_cupti_pc_nr_reasons * params))                  \
	P(PCSamplingGetStallReasons, (struct af_cupti_pc_reasons * params))                        \
	P(GetCubinCrc, (struct af_cupti_cubin_crc * params))

/* Each returns an enum af_cupti_result. */
struct af_cupti_pc_functions {
#define AF_P(name, params) uint32_t(*name) params;
	AF_CUPTI_PC_FUNCTIONS(AF_P)
#undef AF_P
};

#endif
