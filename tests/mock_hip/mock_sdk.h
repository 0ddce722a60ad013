/*
 * The part of rocprofiler-sdk that the mock has, declared for the mocks alone from the vendor's
 * headers: the layouts here and those of src/inject/rocm are two readings of the same.
 */
#ifndef MOCK_SDK_H
#define MOCK_SDK_H

#include <stddef.h>
#include <stdint.h>

struct mock_dispatch {
	uint64_t size;
	int32_t kind, operation;
	uint64_t internal_id;
	uint64_t external_id;
	uint64_t thread_id;
	uint64_t start_timestamp;
	uint64_t end_timestamp;
	struct {
		uint64_t size;
		uint64_t agent_id;
		uint64_t queue_id;
		uint64_t kernel_id;
		uint64_t dispatch_id;
		uint32_t private_segment_size;
		uint32_t group_segment_size;
		uint32_t workgroup_size[3];
		uint32_t grid_size[3];
		uint8_t reserved[56];
	} dispatch_info;
	uint64_t later[2]; /* what a later version appends */
};

struct mock_copy {
	uint64_t size;
	int32_t kind, operation;
	uint64_t internal_id;
	uint64_t external_id;
	uint64_t thread_id;
	uint64_t start_timestamp;
	uint64_t end_timestamp;
	uint64_t dst_agent_id;
	uint64_t src_agent_id;
	uint64_t bytes;
	uint64_t dst_address, src_address;
	uint64_t later[2];
};

struct mock_header {
	union {
		struct {
			uint32_t category, kind;
		};
		uint64_t hash;
	};
	void *payload;
};

struct mock_callback_0 {
	uint64_t context_id, thread_id, internal_id, external_id;
	int32_t kind, operation, phase;
	void *payload;
};

struct mock_callback_1 {
	uint64_t context_id, thread_id, internal_id, external_id, ancestor_id;
	int32_t kind, operation, phase;
	void *payload;
};

struct mock_symbol {
	uint64_t size, kernel_id, code_object_id;
	const char *kernel_name;
	uint64_t kernel_object;
	uint32_t kernarg_segment_size, kernarg_segment_alignment, group_segment_size,
	    private_segment_size;
};

struct mock_agent {
	uint64_t size;
	uint64_t id;
	int32_t type;
	uint32_t cpu_cores_count, simd_count, mem_banks_count, caches_count, io_links_count;
	uint32_t cpu_core_id_base, simd_id_base, max_waves_per_simd, lds_size_in_kb, gds_size_in_kb;
	uint32_t num_gws, wave_front_size, num_xcc, cu_count, array_count, num_shader_banks;
	uint32_t simd_arrays_per_engine, cu_per_simd_array, simd_per_cu, max_slots_scratch_cu;
	uint32_t gfx_target_version;
	uint16_t vendor_id, device_id;
	uint32_t location_id, domain, drm_render_minor, num_sdma_engines, num_sdma_xgmi_engines;
	uint32_t num_sdma_queues_per_engine, num_cp_queues, max_engine_clk_ccompute;
	uint32_t max_engine_clk_fcompute, sdma_fw_version, fw_version, capability, cu_per_engine;
	uint32_t max_waves_per_cu, family_id, workgroup_max_size, grid_max_size;
	uint64_t local_mem_size, hive_id, gpu_id;
	uint32_t workgroup_max_dim[3], grid_max_dim[3];
	const void *mem_banks, *caches, *io_links;
	const char *name, *vendor_name, *product_name, *model_name;
	uint64_t num_pc_sampling_configs;
	const void *pc_sampling_configs;
	uint32_t node_id;
	int32_t logical_node_id;
};

struct mock_client {
	const char *name;
	const uint32_t handle;
};

struct mock_tool {
	size_t size;
	int (*initialize)(void (*finalize)(struct mock_client), void *data);
	void (*finalize)(void *data);
	void *data;
};

typedef struct mock_tool *mock_configure(uint32_t version, const char *words, uint32_t priority,
                                         struct mock_client *client);
typedef void mock_buffer_cb(uint64_t context, uint64_t buffer, struct mock_header **headers,
                            size_t nr, void *data, uint64_t drop_count);
typedef int mock_request_cb(uint64_t thread, uint64_t context, int kind, int32_t operation,
                            uint64_t internal, uint64_t *external, void *data);

int rocprofiler_create_context(uint64_t *context);
int rocprofiler_start_context(uint64_t context);
int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
                              mock_buffer_cb *callback, void *data, uint64_t *buffer);
int rocprofiler_flush_buffer(uint64_t buffer);
int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
                                                 const int32_t *operations, size_t nr,
                                                 uint64_t buffer);
int rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
                                                   const int32_t *operations, size_t nr,
                                                   void *callback, void *data);
int rocprofiler_configure_external_correlation_id_request_service(uint64_t context,
                                                                  const int *kinds, size_t nr,
                                                                  mock_request_cb *callback,
                                                                  void *data);
int rocprofiler_query_available_agents(int version,
                                       int (*callback)(int, const void **, size_t, void *),
                                       size_t agent_size, void *data);
int rocprofiler_get_timestamp(uint64_t *timestamp);
int rocprofiler_force_configure(mock_configure *configure);

#endif
