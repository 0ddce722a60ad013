/*
 * The program's own annotations by NVTX (NVIDIA Tools Extension, version 3: nvtxTypes.h declares
 * the tables): ranges and marks become RANGE events. The program's first NVTX call loads the
 * library named in NVTX_INJECTION64_PATH and lets it put its own functions into the tables; those
 * that are left out do nothing, as without a tool. NVTX 1 and 2 do not exist in 64-bit programs of
 * today.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "base/pages.h"
#include "inject/core/inject.h"
#include "inject/core/lock.h"
#include "inject/core/thread.h"
#include "inject/nvtx/ranges.h"

enum { MESSAGE_BYTES = AF_RANGE_NAME, ARENA_BYTES = 64 << 10, DOMAINS = 8 };

/* NvtxExportTableID, NvtxCallbackModule, NvtxCallbackIdCore and NvtxCallbackIdCore2. */
enum { NVTX_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum {
	CORE_MARK_EX = 1,
	CORE_MARK,
	CORE_MARK_WIDE,
	CORE_START_EX,
	CORE_START,
	CORE_START_WIDE,
	CORE_END,
	CORE_PUSH_EX,
	CORE_PUSH,
	CORE_PUSH_WIDE,
	CORE_POP,
};
enum {
	CORE2_MARK_EX = 1,
	CORE2_START_EX,
	CORE2_END,
	CORE2_PUSH_EX,
	CORE2_POP,
	CORE2_STRING = 10,
	CORE2_STRING_WIDE,
	CORE2_DOMAIN,
	CORE2_DOMAIN_WIDE,
};

typedef void nvtx_function(void);

struct nvtx_callbacks {
	size_t size;
	int (*functions)(int module, nvtx_function ***table, unsigned *size);
};

/* nvtxEventAttributes_t, version 2 and 3 */
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
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3, COLOR_ARGB = 1 };

/* Behind the handles we hand out: of domains and of registered strings. */
struct nvtx_name {
	uint32_t number; /* of a domain, from 1 */
	uint32_t len;
	char text[];
};

static struct af_fork_lock names_lock = AF_FORK_LOCK;
static char *names, *names_end;
static _Atomic uint32_t nr_domains;

/* How deep the thread is in ranges, by domain: what push and pop return. */
static __thread int32_t depths[DOMAINS];

/* A message as the program gave it, of one of four kinds, into @text. */
static uint32_t wide_text(const wchar_t *from, char *text, uint32_t room)
{
	uint32_t n = 0;

	for (; from && *from && n + 4 <= room; from++) {
		uint32_t c = (uint32_t)*from;
		if (c < 0x80) {
			text[n++] = (char)c;
		} else if (c < 0x800) {
			text[n++] = (char)(0xc0 | c >> 6);
			text[n++] = (char)(0x80 | (c & 63));
		} else if (c < 0x10000) {
			text[n++] = (char)(0xe0 | c >> 12);
			text[n++] = (char)(0x80 | (c >> 6 & 63));
			text[n++] = (char)(0x80 | (c & 63));
		} else {
			text[n++] = (char)(0xf0 | (c >> 18 & 7));
			text[n++] = (char)(0x80 | (c >> 12 & 63));
			text[n++] = (char)(0x80 | (c >> 6 & 63));
			text[n++] = (char)(0x80 | (c & 63));
		}
	}
	return n;
}

static struct nvtx_name *name_new(const char *text, uint32_t len, uint32_t number)
{
	size_t size = (sizeof(struct nvtx_name) + len + 15) & ~15ul;
	struct nvtx_name *n = NULL;

	af_fork_lock(&names_lock);
	if ((size_t)(names_end - names) < size) {
		names = af_pages(ARENA_BYTES, 0);
		names_end = names ? names + ARENA_BYTES : NULL;
	}
	if (names && (size_t)(names_end - names) >= size) {
		n = (void *)names;
		names += size;
		n->number = number;
		n->len = len;
		memcpy(n->text, text, len);
	}
	af_fork_unlock(&names_lock);
	return n;
}

static struct nvtx_name *name_plain(const char *text, uint32_t number)
{
	return name_new(text ? text : "", text ? (uint32_t)strnlen(text, MESSAGE_BYTES) : 0,
	                number);
}

static struct nvtx_name *name_wide(const wchar_t *wide, uint32_t number)
{
	char text[MESSAGE_BYTES];

	return name_new(text, wide_text(wide, text, sizeof text), number);
}

/* A range's edge or a mark, with the name of its domain still in one piece. */
struct saying {
	enum af_range_edge edge;
	const struct af_regs *regs;     /* of the caller, at a PUSH */
	const struct nvtx_name *domain; /* NULL: the default one */
	const char *text;
	uint32_t len, color;
	uint64_t range;
};

static int32_t *depth(const struct nvtx_name *domain)
{
	return &depths[domain ? 1 + domain->number % (DOMAINS - 1) : 0];
}

static void say(const struct saying *s)
{
	const struct af_annotation a = {
	    .edge = s->edge,
	    .regs = s->regs,
	    .domain = s->domain ? s->domain->text : "",
	    .domain_len = s->domain ? s->domain->len : 0,
	    .text = s->text,
	    .len = s->text ? s->len : 0,
	    .color = s->color,
	    .range = s->range,
	    .depth = s->edge == AF_RANGE_START ? 0 : *depth(s->domain) - (s->edge == AF_RANGE_POP),
	};

	af_range_put(&a);
}

static void say_text(enum af_range_edge edge, uint64_t range, const char *text,
                     const struct af_regs *regs)
{
	say(&(struct saying){.edge = edge,
	                     .regs = regs,
	                     .range = range,
	                     .text = text,
	                     .len = text ? (uint32_t)strnlen(text, MESSAGE_BYTES) : 0});
}

static void say_wide(enum af_range_edge edge, uint64_t range, const wchar_t *wide,
                     const struct af_regs *regs)
{
	char text[MESSAGE_BYTES];

	say(&(struct saying){.edge = edge,
	                     .regs = regs,
	                     .range = range,
	                     .text = text,
	                     .len = wide_text(wide, text, sizeof text)});
}

static void say_attributes(enum af_range_edge edge, uint64_t range, const struct nvtx_name *domain,
                           const struct nvtx_attributes *a, const struct af_regs *regs)
{
	struct saying s = {.edge = edge, .regs = regs, .range = range, .domain = domain};
	char wide[MESSAGE_BYTES];
	const struct nvtx_name *registered;

	if (!a || a->size < sizeof *a)
		return;
	if (a->color_type == COLOR_ARGB)
		s.color = a->color;
	switch (a->message ? a->message_type : 0) {
	case MESSAGE_ASCII:
		s.text = a->message;
		s.len = (uint32_t)strnlen(a->message, MESSAGE_BYTES);
		break;
	case MESSAGE_WIDE:
		s.text = wide;
		s.len = wide_text(a->message, wide, sizeof wide);
		break;
	case MESSAGE_REGISTERED:
		registered = a->message;
		s.text = registered->text;
		s.len = registered->len;
		break;
	default:
		break;
	}
	say(&s);
}

static void mark_ex(const struct nvtx_attributes *a)
{
	say_attributes(AF_RANGE_MARK, 0, NULL, a, NULL);
}

static void mark(const char *text)
{
	say_text(AF_RANGE_MARK, 0, text, NULL);
}

static void mark_wide(const wchar_t *text)
{
	say_wide(AF_RANGE_MARK, 0, text, NULL);
}

static uint64_t start_ex(const struct nvtx_attributes *a)
{
	uint64_t range = af_range_new();

	say_attributes(AF_RANGE_START, range, NULL, a, NULL);
	return range;
}

static uint64_t start(const char *text)
{
	uint64_t range = af_range_new();

	say_text(AF_RANGE_START, range, text, NULL);
	return range;
}

static uint64_t start_wide(const wchar_t *text)
{
	uint64_t range = af_range_new();

	say_wide(AF_RANGE_START, range, text, NULL);
	return range;
}

static void end(uint64_t range)
{
	say_text(AF_RANGE_END, range, NULL, NULL);
}

static int push_ex(const struct nvtx_attributes *a)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	say_attributes(AF_RANGE_PUSH, 0, NULL, a, &regs);
	return (*depth(NULL))++;
}

static int push(const char *text)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	say_text(AF_RANGE_PUSH, 0, text, &regs);
	return (*depth(NULL))++;
}

static int push_wide(const wchar_t *text)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	say_wide(AF_RANGE_PUSH, 0, text, &regs);
	return (*depth(NULL))++;
}

static int pop(void)
{
	say_text(AF_RANGE_POP, 0, NULL, NULL);
	return --*depth(NULL);
}

static void domain_mark_ex(const struct nvtx_name *domain, const struct nvtx_attributes *a)
{
	say_attributes(AF_RANGE_MARK, 0, domain, a, NULL);
}

static uint64_t domain_start_ex(const struct nvtx_name *domain, const struct nvtx_attributes *a)
{
	uint64_t range = af_range_new();

	say_attributes(AF_RANGE_START, range, domain, a, NULL);
	return range;
}

static void domain_end(const struct nvtx_name *domain, uint64_t range)
{
	say(&(struct saying){.edge = AF_RANGE_END, .domain = domain, .range = range});
}

static int domain_push_ex(const struct nvtx_name *domain, const struct nvtx_attributes *a)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	say_attributes(AF_RANGE_PUSH, 0, domain, a, &regs);
	return (*depth(domain))++;
}

static int domain_pop(const struct nvtx_name *domain)
{
	say(&(struct saying){.edge = AF_RANGE_POP, .domain = domain});
	return --*depth(domain);
}

static const struct nvtx_name *string_new(const struct nvtx_name *domain, const char *text)
{
	(void)domain;
	return name_plain(text, 0);
}

static const struct nvtx_name *string_wide(const struct nvtx_name *domain, const wchar_t *text)
{
	(void)domain;
	return name_wide(text, 0);
}

static const struct nvtx_name *domain_new(const char *name)
{
	return name_plain(name, af_inject_next_id(&nr_domains));
}

static const struct nvtx_name *domain_wide(const wchar_t *name)
{
	return name_wide(name, af_inject_next_id(&nr_domains));
}

/* The tables hold pointers to where a function's pointer goes. */
static void table_fill(const struct nvtx_callbacks *c, int module, nvtx_function *const *ours,
                       unsigned nr)
{
	nvtx_function ***table = NULL;
	unsigned size = 0;

	/* The table is declared as a pointer to pointers to functions. */
	if (!c->functions(module, (nvtx_function ***)&table, &size) || !table)
		return;
	for (unsigned i = 1; i < nr && i < size; i++)
		if (ours[i] && table[i])
			*table[i] = ours[i];
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*export_table)(uint32_t));
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t))
{
#define F(function) ((nvtx_function *)(function))
	static nvtx_function *const core[] = {
	    [CORE_MARK_EX] = F(mark_ex),
	    [CORE_MARK] = F(mark),
	    [CORE_MARK_WIDE] = F(mark_wide),
	    [CORE_START_EX] = F(start_ex),
	    [CORE_START] = F(start),
	    [CORE_START_WIDE] = F(start_wide),
	    [CORE_END] = F(end),
	    [CORE_PUSH_EX] = F(push_ex),
	    [CORE_PUSH] = F(push),
	    [CORE_PUSH_WIDE] = F(push_wide),
	    [CORE_POP] = F(pop),
	};
	static nvtx_function *const core2[] = {
	    [CORE2_MARK_EX] = F(domain_mark_ex),  [CORE2_START_EX] = F(domain_start_ex),
	    [CORE2_END] = F(domain_end),          [CORE2_PUSH_EX] = F(domain_push_ex),
	    [CORE2_POP] = F(domain_pop),          [CORE2_STRING] = F(string_new),
	    [CORE2_STRING_WIDE] = F(string_wide), [CORE2_DOMAIN] = F(domain_new),
	    [CORE2_DOMAIN_WIDE] = F(domain_wide),
	};
#undef F
	const struct af_session *session = af_inject_start() ? af_inject_session() : NULL;
	const struct nvtx_callbacks *c = export_table ? export_table(NVTX_CALLBACKS) : NULL;

	if (!session || !(session->flags & (AF_SESSION_CUDA | AF_SESSION_STEPS)) || !c ||
	    c->size < sizeof *c)
		return 0; /* as if no tool were there */
	table_fill(c, MODULE_CORE, core, sizeof core / sizeof *core);
	table_fill(c, MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
	return 1;
}
