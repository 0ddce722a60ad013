/*
 * Where guarded reads go on after a fault: the bounds of af_arch_guarded_copy(), and the table that
 * af_arch_guarded_word() leaves. Private to src/inject/arch.
 */
#ifndef AF_INJECT_ARCH_GUARDED_WORDS_H
#define AF_INJECT_ARCH_GUARDED_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of the table: addresses relative to its two members. */
struct guarded_word {
	int32_t load, fault;
};

/* The place to go on from @pc, which faulted. False: that was no guarded read. */
static inline bool guarded_words_repair(uint64_t *pc)
{
	extern const char af_guard_begin[] __attribute__((visibility("hidden")));
	extern const char af_guard_end[] __attribute__((visibility("hidden")));
	extern const char af_guard_repair[] __attribute__((visibility("hidden")));
	extern const struct guarded_word __start_af_guarded_words[]
	    __attribute__((visibility("hidden"), weak));
	extern const struct guarded_word __stop_af_guarded_words[]
	    __attribute__((visibility("hidden"), weak));

	if (*pc >= (uint64_t)af_guard_begin && *pc < (uint64_t)af_guard_end) {
		*pc = (uint64_t)af_guard_repair;
		return true;
	}
	size_t nr = ((uintptr_t)__stop_af_guarded_words - (uintptr_t)__start_af_guarded_words) /
	            sizeof(struct guarded_word);
	for (const struct guarded_word *g = __start_af_guarded_words; nr--; g++) {
		if (*pc != (uint64_t)&g->load + (uint64_t)(int64_t)g->load)
			continue;
		*pc = (uint64_t)&g->fault + (uint64_t)(int64_t)g->fault;
		return true;
	}
	return false;
}

#endif
