/* The mock's objects. */
#ifndef AF_MOCK_OBJECTS_H
#define AF_MOCK_OBJECTS_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOCK_DEVICES = 8, MOCK_KERNELS = 64 };

struct mock_device {
	uint32_t number;
};

struct mock_memory {
	char *at;
	size_t size;
	ze_memory_type_t type;
	void *device;
	struct mock_memory *next;
};

struct mock_module {
	char *names[MOCK_KERNELS];
	uint32_t nr;
	uint8_t *bytes;
	size_t size;
};

struct mock_kernel {
	char *name;
	uint64_t address, duration_ns;
};

struct mock_pool {
	uint32_t flags;
};

/* A fence is one, too. */
struct mock_event {
	bool stamped, signalled, instant;
	uint64_t start, end;
};

struct mock_queue {
	uint64_t busy_until;
	uint64_t ns; /* of all its work, in whole ticks */
	uint32_t nr_commands;
	bool is_stuck; /* behind "never": no query ends */
};

struct mock_command {
	struct mock_event *event;
	uint64_t ns;
	char name[64];
	bool reset; /* the event */
	bool instant;
	char *to;
	const char *from;
	char value;
	size_t bytes;
	struct mock_query *query;
	bool begins; /* the query */
};

struct mock_list {
	bool immediate, waits;
	struct mock_queue queue;
	struct mock_command *commands;
	uint32_t nr, cap;
};

#endif
