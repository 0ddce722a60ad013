#include "nvtx_say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* NvtxExportTableID, NvtxCallbackModule, NvtxCallbackIdCore, NvtxCallbackIdCore2 */
enum { CALLBACKS = 1, CORE = 1, CORE2 = 5 };
enum {
	MARK = 2,
	START = 5,
	END = 7,
	PUSH_EX = 8,
	PUSH = 9,
	PUSH_WIDE = 10,
	POP = 11,
	CORE_SIZE = 16
};
enum {
	DOMAIN_MARK = 1,
	DOMAIN_START,
	DOMAIN_END,
	DOMAIN_PUSH,
	DOMAIN_POP,
	DOMAIN_STRING = 10,
	DOMAIN_NEW = 12,
	CORE2_SIZE = 16
};
enum { COLOR_ARGB = 1, NO_PUSH_POP_TRACKING = -2 };

typedef void function(void);

static function *core[CORE_SIZE], *core2[CORE2_SIZE];

/* The tool is given pointers to where its functions are to be put, and how many there are. */
static int module_table(int module, function ***table, unsigned *size)
{
	static function **core_at[CORE_SIZE + 1], **core2_at[CORE2_SIZE + 1];

	for (int i = 1; i < CORE_SIZE; i++)
		core_at[i] = &core[i];
	for (int i = 1; i < CORE2_SIZE; i++)
		core2_at[i] = &core2[i];
	if (module != CORE && module != CORE2)
		return 0;
	*(function ****)table = module == CORE ? core_at : core2_at;
	*size = module == CORE ? CORE_SIZE : CORE2_SIZE;
	return 1;
}

static const void *export_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*functions)(int, function ***, unsigned *);
	} callbacks = {sizeof callbacks, module_table};

	return id == CALLBACKS ? &callbacks : NULL;
}

static void load(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*)(uint32_t)) = NULL;

	if (tool)
		*(void **)&initialize = dlsym(tool, "InitializeInjectionNvtx2");
	if (initialize)
		initialize(export_table);
}

static function *tool_of(function *const *table, int index)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return table[index];
}

#define CALL(table, index, otherwise, returns, types, ...)                                         \
	({                                                                                         \
		returns(*call_) types = (returns(*) types)tool_of(table, index);                   \
		call_ ? call_(__VA_ARGS__) : (otherwise);                                          \
	})
#define CALL_VOID(table, index, types, ...)                                                        \
	do {                                                                                       \
		void(*call_) types = (void(*) types)tool_of(table, index);                         \
		if (call_)                                                                         \
			call_(__VA_ARGS__);                                                        \
	} while (0)

struct nvtx_attributes nvtx_with(enum nvtx_message type, const void *message, uint32_t color)
{
	return (struct nvtx_attributes){
	    .version = 2,
	    .size = sizeof(struct nvtx_attributes),
	    .color_type = color ? COLOR_ARGB : 0,
	    .color = color,
	    .message_type = type,
	    .message = message,
	};
}

int nvtx_push(const char *name)
{
	return CALL(core, PUSH, NO_PUSH_POP_TRACKING, int, (const char *), name);
}

int nvtx_push_wide(const wchar_t *name)
{
	return CALL(core, PUSH_WIDE, NO_PUSH_POP_TRACKING, int, (const wchar_t *), name);
}

int nvtx_push_ex(const struct nvtx_attributes *what)
{
	return CALL(core, PUSH_EX, NO_PUSH_POP_TRACKING, int, (const struct nvtx_attributes *),
	            what);
}

int nvtx_pop(void)
{
	return CALL(core, POP, NO_PUSH_POP_TRACKING, int, (void));
}

void nvtx_mark(const char *name)
{
	CALL_VOID(core, MARK, (const char *), name);
}

uint64_t nvtx_start(const char *name)
{
	return CALL(core, START, 0, uint64_t, (const char *), name);
}

void nvtx_end(uint64_t range)
{
	CALL_VOID(core, END, (uint64_t), range);
}

struct nvtx_domain *nvtx_domain(const char *name)
{
	return CALL(core2, DOMAIN_NEW, NULL, struct nvtx_domain *, (const char *), name);
}

struct nvtx_string *nvtx_string(struct nvtx_domain *domain, const char *text)
{
	return CALL(core2, DOMAIN_STRING, NULL, struct nvtx_string *,
	            (struct nvtx_domain *, const char *), domain, text);
}

int nvtx_domain_push(struct nvtx_domain *domain, const struct nvtx_attributes *what)
{
	return CALL(core2, DOMAIN_PUSH, NO_PUSH_POP_TRACKING, int,
	            (struct nvtx_domain *, const struct nvtx_attributes *), domain, what);
}

int nvtx_domain_pop(struct nvtx_domain *domain)
{
	return CALL(core2, DOMAIN_POP, NO_PUSH_POP_TRACKING, int, (struct nvtx_domain *), domain);
}

uint64_t nvtx_domain_start(struct nvtx_domain *domain, const struct nvtx_attributes *what)
{
	return CALL(core2, DOMAIN_START, 0, uint64_t,
	            (struct nvtx_domain *, const struct nvtx_attributes *), domain, what);
}

void nvtx_domain_end(struct nvtx_domain *domain, uint64_t range)
{
	CALL_VOID(core2, DOMAIN_END, (struct nvtx_domain *, uint64_t), domain, range);
}

void nvtx_domain_mark(struct nvtx_domain *domain, const struct nvtx_attributes *what)
{
	CALL_VOID(core2, DOMAIN_MARK, (struct nvtx_domain *, const struct nvtx_attributes *),
	          domain, what);
}
