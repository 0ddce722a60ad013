#include "analyse/frames/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frame_locations.h"
#include "analyse/frames/last.h"
#include "analyse/frames/marks.h"
#include "analyse/frames/pymerge.h"
#include "analyse/tree/folded_text.h"
#include "sym/sym.h"

uint32_t af_frames_under(struct af_tree *t, uint32_t parent, const char *text, enum af_frame kind)
{
	return af_tree_child(t, parent, af_tree_name(t, text, strlen(text), kind, 0));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/*
 * An address without a name still has its module and the reason, in fewer words than
 * AF_SYMBOL_SOURCES has. Not its offset, which would make a frame of each address; `print -k
 * symbol` tells.
 */
static uint32_t frame_unnamed(struct af_tree *t, const struct af_world *w, uint32_t process,
                              uint32_t parent, const struct af_symbol *s, enum af_frame kind)
{
	struct af_location location = af_location_address(w, process, s);
	static const char *const reasons[AF_SYMBOL_END] = {
#define AF_N(NAME, words) [AF_SYMBOL_##NAME] = words,
	    AF_NO_NAMES(AF_N)
#undef AF_N
	};
	const char *module = s ? af_strtab_get(&w->strings, s->module) : "";

	location.unnamed = s ? s->offset : 0;
	if (s && s->source == AF_SYMBOL_NO_MAP)
		return af_frames_at(t, parent, AF_MARK_JIT_NO_MAP, AF_FRAME_JIT, &location);
	const char *reason = s && s->source < AF_SYMBOL_END ? reasons[s->source] : NULL;
	const char *name = *module                   ? base_name(module)
	                   : kind == AF_FRAME_KERNEL ? "kernel"
	                                             : "unknown";
	size_t len = strlen(name);
	char text[512];

	/* Modules that are no files stand in brackets already: [nfs], [vdso]. */
	if (len > 2 && *name == '[' && name[len - 1] == ']') {
		name++;
		len -= 2;
	}
	snprintf(text, sizeof text, "[%.*s: %s]", (int)len, name, reason ? reason : "not named");
	return af_frames_at(t, parent, text,
	                    *module || kind == AF_FRAME_KERNEL ? kind : AF_FRAME_MARK, &location);
}

/* The libraries of Open MPI and MPICH, Open MPI's plug-ins, and our own wrappers. */
static bool is_mpi_library(const char *module)
{
	static const char *const begins[] = {"libmpi",      "libpmpi", "libopen-rte",
	                                     "libopen-pal", "mca_",    "libaflame-mpi"};
	const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;

	for (unsigned i = 0; i < sizeof begins / sizeof *begins; i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static enum af_frame kind_of(const struct af_world *w, const struct af_symbol *s, bool inlined)
{
	if (is_mpi_library(af_strtab_get(&w->strings, s->module)))
		return AF_FRAME_MPI;
	if (inlined)
		return AF_FRAME_INLINED;
	return s->source == AF_SYMBOL_JIT ? AF_FRAME_JIT : AF_FRAME_NATIVE;
}

/* A function; the ones that PoCL makes of OpenCL kernels go by the kernel's name. */
static uint32_t frame_named(struct af_tree *t, const struct af_world *w, uint32_t process,
                            uint32_t parent, const struct af_symbol *s, uint32_t i)
{
	const char *name = af_strtab_get(&w->strings, s->frames[i * 3]);
	const struct af_location location = af_location_function(w, process, s, i);
	size_t len;
	const char *kernel = af_sym_kernel_name(name, &len);

	if (kernel)
		return af_tree_child(t, parent,
		                     af_tree_name_at(t, kernel, len, AF_FRAME_GPU, &location));
	if (!strcmp(af_strtab_get(&w->strings, s->module), "[imported]")) {
		/* The kind of an imported frame is part of its name, as in folded text. */
		len = strlen(name);
		enum af_frame kind = af_frame_by_looks(name, &len);
		return af_tree_child(t, parent, af_tree_name_at(t, name, len, kind, &location));
	}
	return af_frames_at(t, parent, name, kind_of(w, s, location.inlined), &location);
}

/*
 * A mark for frames that the recorder left out of the middle. Its number keeps only two digits, so
 * that stacks of nearly the same depth share a frame.
 */
static uint32_t frame_left_out(struct af_tree *t, uint32_t parent, uint64_t entry, const char *of)
{
	uint64_t nr = entry & ~AF_LEFT_OUT, unit = 1;
	char text[96];

	if (!nr)
		return af_frames_under(t, parent, AF_MARK_ENDED, AF_FRAME_MARK);
	while (nr / unit >= 100)
		unit *= 10;
	unsigned long long about = nr / unit * unit;
	snprintf(text, sizeof text, AF_MARK_TRUNCATED "%s%llu %sframe%s left out]",
	         unit > 1 ? "about " : "", about, of, nr == 1 ? "" : "s");
	return af_frames_under(t, parent, text, AF_FRAME_MARK);
}

/* An address of the operating system's kernel, with what was inlined there. */
static uint32_t frame_kernel(struct af_tree *t, const struct af_world *w, uint32_t parent,
                             uint64_t pc)
{
	const struct af_symbol *s = af_world_kernel_symbol(w, pc);
	uint32_t at = s ? s->nr_frames : 0;

	if (!at)
		return frame_unnamed(t, w, 0, parent, s, AF_FRAME_KERNEL);
	while (at-- > 0) {
		const struct af_location location = af_location_function(w, 0, s, at);
		parent = af_frames_at(t, parent, af_strtab_get(&w->strings, s->frames[at * 3]),
		                      AF_FRAME_KERNEL, &location);
	}
	return parent;
}

/* One address: its function, then what was inlined into it, from the outside in. */
static uint32_t frame_native(struct af_tree *t, const struct af_world *w, uint32_t parent,
                             const struct af_stack *stack, uint64_t pc)
{
	if (AF_IS_LEFT_OUT(pc))
		return frame_left_out(t, parent, pc, "");
	/* Part of an imported stack that continues there. */
	if (pc >> 63)
		return frame_kernel(t, w, parent, pc);
	const struct af_symbol *s = af_world_stack_symbol(w, stack, pc);

	if (!s || !s->nr_frames)
		return frame_unnamed(t, w, stack->process, parent, s, AF_FRAME_NATIVE);
	for (uint32_t i = s->nr_frames; i-- > 0;) {
		if (*af_strtab_get(&w->strings, s->frames[i * 3]))
			parent = frame_named(t, w, stack->process, parent, s, i);
		else
			parent = frame_unnamed(t, w, stack->process, parent, s, AF_FRAME_NATIVE);
	}
	return parent;
}

static uint32_t frame_python(struct af_tree *t, const struct af_world *w, uint32_t parent,
                             uint32_t process, uint64_t entry)
{
	if (AF_IS_LEFT_OUT(entry))
		return frame_left_out(t, parent, entry, "Python ");
	const struct af_py_code *c = af_world_py_code(w, process, (uint32_t)(entry >> 32));
	char text[1024];

	if (!c)
		return af_frames_under(t, parent, "[python function not known]", AF_FRAME_MARK);
	int line = af_py_line(c->version, c->lines, c->lines_len, c->first_line, (uint32_t)entry);
	if (line < 0)
		line = c->first_line;
	if (line)
		snprintf(text, sizeof text, "%s (%s:%d)", c->name, base_name(c->file), line);
	else
		snprintf(text, sizeof text, "%s (%s)", c->name, base_name(c->file));
	const struct af_location location = {
	    .function = c->name,
	    .file = c->file,
	    .line = line > 0 ? (uint32_t)line : 0,
	    .first_line = c->first_line > 0 ? (uint32_t)c->first_line : 0,
	};
	return af_frames_at(t, parent, text, AF_FRAME_PYTHON, &location);
}

static uint32_t frame_truncated(struct af_tree *t, uint32_t parent, uint32_t stop)
{
	char text[160];

	if (stop == AF_STOP_FRAME_POINTERS)
		return af_frames_under(t, parent, AF_MARK_FRAME_POINTERS, AF_FRAME_MARK);
	snprintf(text, sizeof text, AF_MARK_TRUNCATED "%s]", af_stop_text(stop));
	return af_frames_under(t, parent, text, AF_FRAME_MARK);
}

/* The role of a native frame in the interpreter; its function is the outermost of its symbol. */
static enum af_py_native native_role(const struct af_world *w, const struct af_stack *stack,
                                     uint64_t pc)
{
	if (AF_IS_LEFT_OUT(pc))
		return AF_PY_NATIVE_LEFT_OUT;
	const struct af_symbol *s = af_world_stack_symbol(w, stack, pc);

	if (!s || !s->nr_frames)
		return AF_PY_NATIVE_OTHER;
	return af_py_native(af_strtab_get(&w->strings, s->frames[(s->nr_frames - 1) * 3]));
}

/* The same, through what is remembered of the last ones. */
static uint32_t frame_native_again(struct af_tree *t, const struct af_world *w, uint32_t parent,
                                   const struct af_stack *stack, uint64_t pc)
{
	uint32_t node = af_frames_last_known(t->last, t, parent, pc);

	if (!node) {
		node = frame_native(t, w, parent, stack, pc);
		af_frames_last_learn(t->last, t, parent, pc, node);
	}
	af_frames_last_push(t->last, pc, node);
	return node;
}

/* The frames of @stack, leaf first, from @first on. */
static uint32_t frames_native_only(struct af_tree *t, const struct af_world *w, uint32_t node,
                                   const struct af_stack *stack, uint32_t first)
{
	uint32_t shared = t->last ? af_frames_last_shared(t->last, node, stack, first, &node) : 0;

	for (uint32_t i = stack->nr - shared; i-- > first;)
		node = t->last ? frame_native_again(t, w, node, stack, stack->pcs[i])
		               : frame_native(t, w, node, stack, stack->pcs[i]);
	return node;
}

static uint32_t frames_with_python(struct af_tree *t, const struct af_world *w, uint32_t node,
                                   const struct af_stack *stack, uint32_t first,
                                   const struct af_stack *py)
{
	uint8_t *roles = af_xcalloc(stack->nr, 1);
	struct af_py_merged *merged = af_xcalloc((size_t)stack->nr + py->nr, sizeof *merged);

	for (uint32_t i = 0; i < stack->nr; i++)
		roles[i] = (uint8_t)native_role(w, stack, stack->pcs[i]);
	uint32_t nr = af_py_merge(roles, stack->nr, stack->stop == AF_STOP_COMPLETE, py->pcs,
	                          py->nr, py->stop == AF_STOP_COMPLETE, merged);
	for (uint32_t i = nr; i-- > 0;) {
		const struct af_py_merged *m = &merged[i];
		if (m->kind != AF_PY_MERGED_PYTHON && m->index < first)
			continue;
		node = m->kind == AF_PY_MERGED_PYTHON
		           ? frame_python(t, w, node, py->process, py->pcs[m->index])
		           : frame_native(t, w, node, stack, stack->pcs[m->index]);
	}
	free(merged);
	free(roles);
	return node;
}

/* Where processes and threads begin: glibc, musl, the dynamic linker, Go. */
static bool is_start(const char *name)
{
	static const char *const starts[] = {
	    "_start",
	    "_start_c",
	    "_dl_start_user",
	    "__libc_start_main",
	    "clone",
	    "__clone",
	    "__clone3",
	    "clone3",
	    "__clone_internal",
	    "start_thread",
	    "runtime.goexit",
	    "runtime.goexit.abi0",
	    "runtime.rt0_go",
	    "runtime.rt0_go.abi0",
	    "runtime.mstart",
	    "runtime.mstart.abi0",
	    "_rt0_amd64_linux",
	    "_rt0_amd64",
	};

	for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
		if (!strcmp(name, starts[i]))
			return true;
	return !strncmp(name, "__libc_start_main_", 18);
}

bool af_frames_whole(const struct af_world *w, const struct af_stack *stack)
{
	if (stack->stop != AF_STOP_FRAME_POINTERS || !stack->nr)
		return stack->stop == AF_STOP_COMPLETE;
	const struct af_symbol *s = af_world_stack_symbol(w, stack, stack->pcs[stack->nr - 1]);

	return s && s->nr_frames &&
	       is_start(af_strtab_get(&w->strings, s->frames[(s->nr_frames - 1) * 3]));
}

static uint32_t
frames_user(struct af_tree *t, const struct af_world *w, uint32_t node, uint32_t path,
            uint32_t (*first_of)(const struct af_world *w, const struct af_stack *stack))
{
	if (!path || !w->paths[path].stack)
		return af_frames_under(t, node, AF_MARK_NO_STACK, AF_FRAME_MARK);
	const struct af_stack *stack = &w->stacks[w->paths[path].stack];
	const struct af_stack *py =
	    w->paths[path].py_stack ? &w->py_stacks[w->paths[path].py_stack] : NULL;
	uint32_t first = first_of ? first_of(w, stack) : 0;
	if (!af_frames_whole(w, stack))
		node = frame_truncated(t, node, stack->stop);
	else if (py && py->stop == AF_STOP_TOO_DEEP)
		node = frame_truncated(t, node, py->stop);
	return py ? frames_with_python(t, w, node, stack, first, py)
	          : frames_native_only(t, w, node, stack, first);
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* The role of a frame in a call of CUDA. */
enum frame_cuda {
	FRAME_CUDA_NOT,
	FRAME_CUDA_BELOW,   /* the driver or Level Zero's loader, and what is called back by it */
	FRAME_CUDA_INSIDE,  /* the runtime, within itself */
	FRAME_CUDA_RUNTIME, /* a function of the runtime's interface */
};

/*
 * The runtime is a library, or linked into the program; then it is the functions with such names.
 */
static enum frame_cuda frame_cuda(const struct af_world *w, const struct af_stack *stack,
                                  uint32_t i)
{
	const struct af_symbol *s = af_world_stack_symbol(w, stack, stack->pcs[i]);

	if (!s)
		return FRAME_CUDA_NOT;
	const char *module = base_name(af_strtab_get(&w->strings, s->module));
	const char *name = s->nr_frames && s->source != AF_SYMBOL_FDE
	                       ? af_strtab_get(&w->strings, s->frames[(s->nr_frames - 1) * 3])
	                       : "";
	if (starts_with(module, "libcuda.so") || starts_with(module, "libcupti.so") ||
	    starts_with(module, "libaflame.so") || starts_with(module, "libaflame-ze") ||
	    starts_with(module, "libze_"))
		return FRAME_CUDA_BELOW;
	if (starts_with(name, "libcudart_static_") || starts_with(name, "__cudart"))
		return FRAME_CUDA_INSIDE;
	if (starts_with(module, "libcudart.so"))
		return starts_with(name, "cuda") ? FRAME_CUDA_RUNTIME : FRAME_CUDA_INSIDE;
	return starts_with(name, "cuda") ? FRAME_CUDA_RUNTIME : FRAME_CUDA_NOT;
}

/* How many frames at the leaf of @stack are not shown. */
static uint32_t frames_below_call(const struct af_world *w, const struct af_stack *stack)
{
	uint32_t first = 0;

	while (first < stack->nr && frame_cuda(w, stack, first) == FRAME_CUDA_BELOW)
		first++;
	uint32_t at = first;
	while (at < stack->nr && frame_cuda(w, stack, at) == FRAME_CUDA_INSIDE)
		at++;
	bool runtime = at < stack->nr && frame_cuda(w, stack, at) == FRAME_CUDA_RUNTIME;
	return runtime ? at : first;
}

uint32_t af_frames_call(struct af_tree *t, const struct af_world *w, uint32_t node, uint32_t path)
{
	return frames_user(t, w, node, path, frames_below_call);
}

enum { FRAMES_TELLING = 16 }; /* that many at most it takes to tell profilers */

/*
 * The number of frames at the leaf of @stack that are not shown: PyTorch's functions that report an
 * operation to profilers.
 */
static uint32_t frames_below_operation(const struct af_world *w, const struct af_stack *stack)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < stack->nr && i < FRAMES_TELLING; i++) {
		const struct af_symbol *s = af_world_stack_symbol(w, stack, stack->pcs[i]);
		for (uint32_t f = 0; s && f < s->nr_frames; f++) {
			const char *name = af_strtab_get(&w->strings, s->frames[f * 3]);
			if (starts_with(name, "at::RecordFunction::") || strstr(name, "nvtx") ||
			    strstr(name, "NVTX"))
				first = i + 1;
		}
	}
	return first < stack->nr ? first : 0;
}

uint32_t af_frames_operation(struct af_tree *t, const struct af_world *w, uint32_t node,
                             uint32_t path)
{
	return frames_user(t, w, node, path, frames_below_operation);
}

uint32_t af_frames_ranges(struct af_tree *t, const struct af_world *w, uint32_t node,
                          uint32_t doing)
{
	const char *names[AF_ANNOTATIONS_DEEP];
	uint32_t nr = af_annotations_names(&w->annotations,
	                                   af_annotations_get(&w->annotations, doing).nest, names);

	for (uint32_t i = 0; i < nr; i++)
		node = af_frames_under(t, node, names[i], AF_FRAME_MARK);
	return node;
}

static uint32_t frames_kernel(struct af_tree *t, const struct af_world *w, uint32_t node,
                              const struct af_stack *stack)
{
	if (stack->stop != AF_STOP_COMPLETE)
		node = frame_truncated(t, node, stack->stop);
	for (uint32_t i = stack->nr; i-- > 0;)
		node = frame_kernel(t, w, node, stack->pcs[i]);
	return node;
}

uint32_t af_frames_process(struct af_tree *t, const struct af_world *w, uint32_t process)
{
	const struct af_process *p = af_world_process(w, process);
	/*
	 * In the recorder's own streams the kernel acts for no process: an interrupt woke somebody.
	 */
	const char *name = !process ? "[interrupt]" : p && *p->name ? p->name : "[unknown process]";

	const struct af_location location = af_location_process(w, process);
	return af_frames_at(t, 0, name, AF_FRAME_PROCESS, &location);
}

uint32_t af_frames_place(struct af_tree *t, const struct af_world *w, uint32_t node,
                         const struct af_stack_location *at)
{
	if (at->path == AF_PATH_MISSED)
		node = af_frames_under(t, node, AF_MARK_NO_USER_STACK, AF_FRAME_MARK);
	else if (at->path != AF_PATH_NONE)
		node = frames_user(t, w, node, at->path, NULL);
	if (at->kstack == AF_KSTACK_MISSED)
		return af_frames_under(t, node, "[kernel]", AF_FRAME_KERNEL);
	return at->kstack ? frames_kernel(t, w, node, &w->kstacks[at->kstack]) : node;
}

bool af_frames_on_device(const struct af_world *w, const struct af_stack_location *at)
{
	const struct af_path *path =
	    at->path < AF_PATH_MISSED && at->path ? &w->paths[at->path] : NULL;
	const struct af_stack *stack = path && path->stack ? &w->stacks[path->stack] : NULL;
	const struct af_symbol *s = stack && stack->nr && !at->kstack
	                                ? af_world_stack_symbol(w, stack, stack->pcs[0])
	                                : NULL;

	if (!s || !s->nr_frames || strcmp(af_strtab_get(&w->strings, s->module), "[imported]") != 0)
		return false;
	const char *name = af_strtab_get(&w->strings, s->frames[0]);
	size_t len = strlen(name);
	enum af_frame kind = af_frame_by_looks(name, &len);
	return kind == AF_FRAME_GPU || kind == AF_FRAME_GPU_INSN;
}

uint32_t af_frames_node(struct af_tree *t, const struct af_world *w,
                        const struct af_stack_location *at)
{
	return af_frames_place(t, w, af_frames_process(t, w, at->process), at);
}
