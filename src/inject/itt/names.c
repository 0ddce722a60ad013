/*
 * Domains and strings, for static parts that make none once ITT has begun (builds to 2022 hand out
 * one nameless domain), where the other collector makes none. They are never freed: programs keep
 * them, and other collectors read them.
 */
#include <stddef.h>
#include <string.h>

#include "base/pages.h"
#include "inject/core/lock.h"
#include "inject/itt/itt.h"

enum { LISTS = 1024, NAMES = 65536, NAME_BYTES = 4096, CHUNK_BYTES = 64 << 10 };

struct name {
	struct name *next; /* in its list */
	union {
		struct itt_domain domain;
		struct itt_string string;
	};
	char text[];
};

static struct af_fork_lock lock = AF_FORK_LOCK;
static struct name *domains[LISTS], *strings[LISTS];
static char *chunk, *chunk_end;
static uint32_t nr_names;
static _Atomic uint32_t noted_full;

static struct name **list_of(struct name **lists, const char *text, size_t len)
{
	uint32_t h = 2166136261;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619;
	return &lists[h & (LISTS - 1)];
}

static struct name *name_new(const char *text, size_t len)
{
	size_t size = (sizeof(struct name) + len + 1 + 15) & ~(size_t)15;

	if (nr_names == NAMES)
		return NULL;
	if ((size_t)(chunk_end - chunk) < size) {
		chunk = af_pages(CHUNK_BYTES, 0);
		chunk_end = chunk ? chunk + CHUNK_BYTES : NULL;
	}
	if (!chunk)
		return NULL;
	struct name *n = (void *)chunk;
	chunk += size;
	nr_names++;
	memcpy(n->text, text, len);
	return n;
}

/* The name @text of @lists, made if there is none: @fresh, to be filled. With the lock. */
static struct name *name_of(struct name **lists, const char *text, bool *fresh)
{
	size_t len = strnlen(text, NAME_BYTES);
	struct name **list = list_of(lists, text, len), *n = *list;

	while (n && (strncmp(n->text, text, len) || n->text[len]))
		n = n->next;
	*fresh = !n;
	if (!n)
		n = name_new(text, len);
	if (n && *fresh) {
		n->next = *list;
		*list = n;
	}
	return n;
}

static void full_note(void)
{
	af_itt_note_once(&noted_full, "itt.names",
	                 "more than 65,536 names of ITT: later ones are empty");
}

struct itt_domain *af_itt_domain_create(const char *name)
{
	static struct itt_domain nameless = {.flags = 1};
	bool fresh;

	if (af_itt_next()->domain_create)
		return af_itt_next()->domain_create(name);
	if (!name)
		return NULL;
	af_fork_lock(&lock);
	struct name *n = name_of(domains, name, &fresh);
	if (n && fresh)
		n->domain = (struct itt_domain){.flags = 1, .name = n->text};
	af_fork_unlock(&lock);
	if (!n)
		full_note();
	/* TBB turns domains on without looking at what it got. */
	return n ? &n->domain : &nameless;
}

struct itt_string *af_itt_string_handle_create(const char *text)
{
	bool fresh;

	if (af_itt_next()->string_handle_create)
		return af_itt_next()->string_handle_create(text);
	if (!text)
		return NULL;
	af_fork_lock(&lock);
	struct name *n = name_of(strings, text, &fresh);
	if (n && fresh)
		n->string = (struct itt_string){.text = n->text};
	af_fork_unlock(&lock);
	if (!n)
		full_note();
	return n ? &n->string : NULL;
}
