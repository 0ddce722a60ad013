/*
 * Programs' side of NVTX (NVIDIA Tools Extension, version 3), as far as the live programs use it,
 * without its headers: the first call loads the library that NVTX_INJECTION64_PATH names and lets
 * it put its functions into our tables. Names, numbers and layouts are those of NVTX (nvtxTypes.h,
 * nvToolsExt.h). Without a tool every function does nothing.
 */
#ifndef AF_LIVE_NVTX_SAY_H
#define AF_LIVE_NVTX_SAY_H

#include <stdint.h>
#include <wchar.h>

#define NVTX_API __attribute__((visibility("default")))

enum nvtx_message { NVTX_NONE, NVTX_ASCII, NVTX_WIDE, NVTX_REGISTERED };

/* nvtxEventAttributes_t, version 2 */
struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

/* Attributes with a message and a colour (ARGB, 0 for none). */
struct nvtx_attributes nvtx_with(enum nvtx_message type, const void *message, uint32_t color);

struct nvtx_domain;
struct nvtx_string;

NVTX_API int nvtx_push(const char *name);
NVTX_API int nvtx_push_wide(const wchar_t *name);
NVTX_API int nvtx_push_ex(const struct nvtx_attributes *what);
NVTX_API int nvtx_pop(void);
NVTX_API void nvtx_mark(const char *name);
NVTX_API uint64_t nvtx_start(const char *name);
NVTX_API void nvtx_end(uint64_t range);

NVTX_API struct nvtx_domain *nvtx_domain(const char *name);
NVTX_API struct nvtx_string *nvtx_string(struct nvtx_domain *domain, const char *text);
NVTX_API int nvtx_domain_push(struct nvtx_domain *domain, const struct nvtx_attributes *what);
NVTX_API int nvtx_domain_pop(struct nvtx_domain *domain);
NVTX_API uint64_t nvtx_domain_start(struct nvtx_domain *domain, const struct nvtx_attributes *what);
NVTX_API void nvtx_domain_end(struct nvtx_domain *domain, uint64_t range);
NVTX_API void nvtx_domain_mark(struct nvtx_domain *domain, const struct nvtx_attributes *what);

#endif
