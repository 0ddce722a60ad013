#include "collect/bpf/library.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/models/cuda_functions.h"
#include "base/arena.h"
#include "collect/bpf/private.h"
#include "collect/bpf/probe_place.h"
#include "collect/session/session.h"

enum { SITES_MAX = 1024 };

/*
 * A kernel's launch is the call that puts it into a list: an immediate list runs it at once. Other
 * lists are executed later, many times maybe, as graphs are.
 */
#define LEVEL_ZERO_FUNCTIONS(F)                                                                    \
	F(zeCommandListAppendLaunchKernel, LAUNCH)                                                 \
	F(zeCommandListAppendLaunchCooperativeKernel, LAUNCH)                                      \
	F(zeCommandListAppendLaunchKernelIndirect, LAUNCH)                                         \
	F(zeCommandListAppendLaunchMultipleKernelsIndirect, LAUNCH)                                \
	F(zeCommandListAppendMemoryCopy, COPY)                                                     \
	F(zeCommandListAppendMemoryCopyRegion, COPY)                                               \
	F(zeCommandListAppendMemoryCopyFromContext, COPY)                                          \
	F(zeCommandListAppendImageCopy, COPY)                                                      \
	F(zeCommandListAppendImageCopyRegion, COPY)                                                \
	F(zeCommandListAppendImageCopyToMemory, COPY)                                              \
	F(zeCommandListAppendImageCopyFromMemory, COPY)                                            \
	F(zeCommandListAppendMemoryFill, FILL)                                                     \
	F(zeCommandQueueExecuteCommandLists, GRAPH_LAUNCH)                                         \
	F(zeCommandListImmediateAppendCommandListsExp, GRAPH_LAUNCH)                               \
	F(zeCommandQueueSynchronize, SYNC)                                                         \
	F(zeCommandListHostSynchronize, SYNC)                                                      \
	F(zeFenceHostSynchronize, SYNC)                                                            \
	F(zeEventHostSynchronize, SYNC)                                                            \
	F(zeMemAllocDevice, ALLOC)                                                                 \
	F(zeMemAllocShared, ALLOC)                                                                 \
	F(zeMemAllocHost, ALLOC)                                                                   \
	F(zeMemFree, FREE)

#define OPENCL_FUNCTIONS(F)                                                                        \
	F(clEnqueueNDRangeKernel, LAUNCH)                                                          \
	F(clEnqueueTask, LAUNCH)                                                                   \
	F(clEnqueueNativeKernel, LAUNCH)                                                           \
	F(clEnqueueReadBuffer, COPY)                                                               \
	F(clEnqueueReadBufferRect, COPY)                                                           \
	F(clEnqueueWriteBuffer, COPY)                                                              \
	F(clEnqueueWriteBufferRect, COPY)                                                          \
	F(clEnqueueCopyBuffer, COPY)                                                               \
	F(clEnqueueCopyBufferRect, COPY)                                                           \
	F(clEnqueueReadImage, COPY)                                                                \
	F(clEnqueueWriteImage, COPY)                                                               \
	F(clEnqueueCopyImage, COPY)                                                                \
	F(clEnqueueCopyImageToBuffer, COPY)                                                        \
	F(clEnqueueCopyBufferToImage, COPY)                                                        \
	F(clEnqueueSVMMemcpy, COPY)                                                                \
	F(clEnqueueFillBuffer, FILL)                                                               \
	F(clEnqueueFillImage, FILL)                                                                \
	F(clEnqueueSVMMemFill, FILL)                                                               \
	F(clFinish, SYNC)                                                                          \
	F(clWaitForEvents, SYNC)                                                                   \
	F(clCreateBuffer, ALLOC)                                                                   \
	F(clSVMAlloc, ALLOC)                                                                       \
	F(clSVMFree, FREE)

const struct bpf_function bpf_functions[] = {{"", 0, 0},
#define AF_F(id, name, category) {#name, AF_CATEGORY_##category, AF_API_CUDA},
                                             AF_CUDA_FUNCTIONS(AF_F)
#undef AF_F
#define AF_F(name, category) {#name, AF_CATEGORY_##category, AF_API_LEVEL_ZERO},
                                                 LEVEL_ZERO_FUNCTIONS(AF_F)
#undef AF_F
#define AF_F(name, category) {#name, AF_CATEGORY_##category, AF_API_OPENCL},
                                                     OPENCL_FUNCTIONS(AF_F)
#undef AF_F
};

enum { NR_FUNCTIONS = sizeof bpf_functions / sizeof *bpf_functions };

#define AF_F(...) +1
const uint32_t bpf_nr_cuda_functions = 1 AF_CUDA_FUNCTIONS(AF_F);
#undef AF_F

_Static_assert(sizeof bpf_functions / sizeof *bpf_functions <= BPF_FUNCTIONS_MAX,
               "a bit of struct bpf_out for each");

const struct bpf_api bpf_apis[BPF_APIS] = {
    [BPF_API_CUDA] = {"libcuda.so", AF_SESSION_CUDA, "cuda.seen"},
    [BPF_API_LEVEL_ZERO] = {"libze_loader.so", AF_SESSION_ZE, "ze.seen"},
    [BPF_API_OPENCL] = {"libOpenCL.so", AF_SESSION_OPENCL, "opencl.seen"},
};

bool bpf_is_file(const char *path, const char *file)
{
	const char *name = strrchr(path, '/');
	size_t length = strlen(file);

	return name && path[1] != '/' && !strncmp(name + 1, file, length) &&
	       (!name[1 + length] || name[1 + length] == '.');
}

int bpf_api_of(const char *path)
{
	for (int api = 0; api < BPF_APIS; api++)
		if (bpf_is_file(path, bpf_apis[api].file))
			return api;
	return -1;
}

static bool is_wanted(uint32_t category)
{
	return category != AF_CATEGORY_GRAPH && category != AF_CATEGORY_LOAD &&
	       category != AF_CATEGORY_OTHER;
}

static uint32_t function_named(const char *name)
{
	if (strncmp(name, "cu", 2) != 0 && strncmp(name, "ze", 2) != 0 &&
	    strncmp(name, "cl", 2) != 0)
		return 0;
	for (uint32_t i = 1; i < NR_FUNCTIONS; i++)
		if (!strcmp(bpf_functions[i].name, name))
			return is_wanted(bpf_functions[i].category) ? i : 0;
	return 0;
}

bool bpf_file_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset)
{
	size_t nr = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr && gelf_getphdr(elf, (int)i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & flags && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz) {
			*offset = address - p.p_vaddr + p.p_offset;
			return true;
		}
	return false;
}

static int site_order(const void *a, const void *b)
{
	const struct bpf_site *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void site_add(struct bpf_library *l, Elf *elf, int fd, uint64_t address, uint32_t function)
{
	uint8_t code[AF_PROBE_CODE];
	uint64_t offset;

	if (l->nr == SITES_MAX || !bpf_file_offset(elf, address, PF_X, &offset))
		return;
	ssize_t n = pread(fd, code, sizeof code, (off_t)offset);
	if (n > 0)
		l->sites[l->nr++] =
		    (struct bpf_site){offset + af_probe_place(code, (uint32_t)n), function};
}

/* Two names of one function are one call: the first name it is. */
static void sites_sort(struct bpf_library *l)
{
	uint32_t kept = 0;

	AF_SORT(l->sites, l->nr, site_order);
	for (uint32_t i = 0; i < l->nr; i++)
		if (!kept || l->sites[kept - 1].offset != l->sites[i].offset)
			l->sites[kept++] = l->sites[i];
	l->nr = kept;
}

static void sites_read(struct bpf_library *l, int fd)
{
	struct bpf_elf file;
	Elf *elf = bpf_elf_open(&file, fd);
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	GElf_Sym symbol;

	l->sites = af_xcalloc(SITES_MAX, sizeof *l->sites);
	while (elf && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNSYM)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(elf, head.sh_link, symbol.st_name);
			uint32_t function = name ? function_named(name) : 0;
			if (function && symbol.st_shndx != SHN_UNDEF &&
			    GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
				site_add(l, elf, fd, symbol.st_value, function);
		}
	}
	bpf_elf_close(&file);
	sites_sort(l);
}

struct bpf_library *bpf_library_of(struct af_bpf *b, int fd)
{
	struct bpf_library *l;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	for (l = b->libraries; l; l = l->next)
		if (l->dev == st.st_dev && l->ino == st.st_ino)
			return l;
	l = af_xcalloc(1, sizeof *l);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	sites_read(l, fd);
	l->next = b->libraries;
	b->libraries = l;
	return l;
}

void bpf_libraries_free(struct af_bpf *b)
{
	for (struct bpf_library *l = b->libraries, *next; l; l = next) {
		next = l->next;
		free(l->sites);
		free(l);
	}
	b->libraries = NULL;
}

uint32_t bpf_library_function(const struct bpf_library *l, uint64_t offset)
{
	for (uint32_t low = 0, high = l->nr; low < high;) {
		uint32_t middle = (low + high) / 2;
		if (l->sites[middle].offset == offset)
			return l->sites[middle].function;
		if (l->sites[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}
