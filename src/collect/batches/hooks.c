#include "collect/batches/hooks.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/system/proc.h"
#include "bpf/record.h"
#include "bpf/record.skel.h"
#include "collect/batches/points.h"

struct batch_hook {
	struct bpf_program *program;
	struct bpf_link **link;
	const char *module, *function;
};

enum {
#define AF_B(program, module, function, when) HOOK_##program,
	AF_BPF_BATCH_HOOKS(AF_B)
#undef AF_B
	    HOOKS
};

static void hooks_of(struct record_bpf *p, struct batch_hook hooks[HOOKS])
{
#define AF_B(program, module, function, when)                                                      \
	hooks[HOOK_##program] =                                                                    \
	    (struct batch_hook){p->progs.program, &p->links.program, #module, #function};
	AF_BPF_BATCH_HOOKS(AF_B)
#undef AF_B
}

void af_module_types_close(struct af_module_types *t)
{
	btf__free(t->types);
	t->types = NULL;
}

static void module_open(struct af_module_types *t, const char *module)
{
	char path[128];

	if (t->module && !strcmp(t->module, module))
		return;
	af_module_types_close(t);
	t->module = module;
	snprintf(path, sizeof path, "/sys/kernel/btf/%s", module);
	if (access(path, R_OK))
		return;
	t->types = btf__load_module_btf(module, (struct btf *)t->kernel);
	if (libbpf_get_error(t->types))
		t->types = NULL;
}

bool af_module_has(struct af_module_types *t, const char *module, const char *function)
{
	char path[128];

	module_open(t, module);
	snprintf(path, sizeof path, "/sys/module/%s", module);
	if (!t->types)
		return !access(path, F_OK) &&
		       btf__find_by_name_kind(t->kernel, function, BTF_KIND_FUNC) > 0;
	/* libbpf's own search begins with the kernel's types, and there are 100,000 of them. */
	uint32_t end = btf__type_cnt(t->types);
	for (uint32_t id = btf__type_cnt(t->kernel); id < end; id++) {
		const struct btf_type *is = btf__type_by_id(t->types, id);
		if (btf_is_func(is) &&
		    !strcmp(btf__name_by_offset(t->types, is->name_off), function))
			return true;
	}
	return false;
}

/* Maps that only these programs use. */
static void maps_wish(struct record_bpf *p, bool wanted)
{
	struct bpf_map *const maps[] = {
	    p->maps.batch_memory,  p->maps.batch_bases,   p->maps.batch_walks,
	    p->maps.batch_empty,   p->maps.batch_queues,  p->maps.batch_buffers,
	    p->maps.batch_offsets, p->maps.batch_changes, p->maps.batch_unchanged};

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		bpf_map__set_autocreate(maps[i], wanted);
}

bool af_batch_hooks_choose(struct record_bpf *p, const struct btf *kernel)
{
	struct batch_hook hooks[HOOKS];
	struct af_module_types types = {.kernel = kernel};
	bool has[HOOKS] = {false};

	hooks_of(p, hooks);
	/* bpf_loop() */
	if (kernel && af_linux_is_at_least(5, 17))
		for (uint32_t i = 0; i < HOOKS; i++)
			has[i] = af_module_has(&types, hooks[i].module, hooks[i].function);
	af_module_types_close(&types);
	bool any = has[HOOK_batch_xe_exec] || has[HOOK_batch_i915_exec];
	for (uint32_t i = 0; i < HOOKS; i++)
		bpf_program__set_autoload(hooks[i].program, any && has[i]);
	maps_wish(p, any);
	return any;
}

bool af_batch_hooks_attach(struct record_bpf *p, unsigned points, char *text, size_t size)
{
	struct batch_hook hooks[HOOKS];
	size_t used = 0;

	*text = '\0';
	if (!bpf_map__autocreate(p->maps.batch_memory))
		return false;
	hooks_of(p, hooks);
	p->bss->batch_xe_launches = !(points & AF_WORK_SCHEDULER);
	p->bss->batch_i915_launches = !(points & AF_WORK_I915);
	for (uint32_t i = 0; i < HOOKS; i++)
		if (bpf_program__autoload(hooks[i].program) && !*hooks[i].link)
			*hooks[i].link = bpf_program__attach(hooks[i].program);
	bool xe = p->links.batch_xe_exec, i915 = p->links.batch_i915_exec;
	used += (size_t)snprintf(text, size, "%s%s%s", xe ? "xe" : "", xe && i915 ? ", " : "",
	                         i915 ? "i915"
	                         : xe ? ""
	                              : "none");
	for (uint32_t i = 0; i < HOOKS; i++)
		if (bpf_program__autoload(hooks[i].program) && !*hooks[i].link && used < size)
			used += (size_t)snprintf(text + used, size - used, ", %s (refused)",
			                         hooks[i].function);
	return xe || i915;
}
