/*
 * ranks_step STEPS FILE [MORE]: a rank of a job that works in steps, and waits for all others at
 * the end of each. RANK and WORLD_SIZE say which of how many it is; FILE, zeroes at first, is what
 * they share. MORE makes it an odd rank:
 *
 *	cpu      extra_work() takes 20 ms of CPU time in each step
 *	device   its device takes 20 ms for a kernel that takes 1 ms elsewhere (the mock's)
 *	file=F   it reads four blocks of F in each step, past the page cache, which a control
 *	         group can make slow
 *
 * With MOCK_CUDA it uses a device at all: libcuda.so.1 is loaded, and not linked.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct shared {
	_Atomic uint32_t arrived, step;
};

static struct shared *shared;
static uint32_t nr_ranks;
static volatile double sink;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline __attribute__((always_inline)) void burn(uint64_t ns)
{
	uint64_t end_ns = cpu_ns() + ns;

	while (cpu_ns() < end_ns)
		for (int i = 0; i < 2000; i++)
			sink = sink * 0.5 + i;
}

__attribute__((noinline)) static void usual_work(void)
{
	burn(1000000);
}

__attribute__((noinline)) static void extra_work(void)
{
	burn(20000000);
}

/* The last to come lets all others go on. */
__attribute__((noinline)) static void wait_for_all(void)
{
	uint32_t step = atomic_load(&shared->step);

	if (atomic_fetch_add(&shared->arrived, 1) + 1 == nr_ranks) {
		atomic_store(&shared->arrived, 0);
		atomic_fetch_add(&shared->step, 1);
		syscall(SYS_futex, &shared->step, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
	while (atomic_load(&shared->step) == step)
		syscall(SYS_futex, &shared->step, FUTEX_WAIT, step, NULL, NULL, 0);
}

__attribute__((noinline)) static void read_blocks(int fd, void *block, uint32_t step)
{
	for (uint32_t i = 0; i < 4; i++)
		if (pread(fd, block, 4096, (off_t)((4 * step + i) % 16) * 4096) != 4096) {
			perror("pread");
			exit(3);
		}
}

static int (*launch)(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y,
                     unsigned z, unsigned bytes, void *stream, void **params, void **extra);
static int (*synchronize)(void);
static void *kernel;

static void *symbol(void *library, const char *name)
{
	void *at = dlsym(library, name);

	if (!at) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	return at;
}

static void device_open(void)
{
	static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
				  ".visible .entry k1(.param .u64 ns)\n{\n\tret;\n}\n";
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context, *module;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	int (*init)(unsigned) = symbol(library, "cuInit");
	int (*create)(void **, unsigned, int) = symbol(library, "cuCtxCreate_v2");
	int (*load)(void **, const void *) = symbol(library, "cuModuleLoadData");
	int (*get)(void **, void *, const char *) = symbol(library, "cuModuleGetFunction");
	launch = symbol(library, "cuLaunchKernel");
	synchronize = symbol(library, "cuCtxSynchronize");
	if (init(0) || create(&context, 0, 0) || load(&module, ptx) || get(&kernel, module, "k1"))
		exit(4);
}

__attribute__((noinline)) static void use_device(uint64_t ns)
{
	void *params[] = {&ns};

	if (launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) || synchronize())
		exit(4);
}

static void step_all(uint32_t steps, const char *more, int file)
{
	void *block = aligned_alloc(4096, 4096);

	for (uint32_t i = 0; i < steps; i++) {
		usual_work();
		if (!strcmp(more, "cpu"))
			extra_work();
		if (kernel)
			use_device(!strcmp(more, "device") ? 20000000 : 1000000);
		if (file >= 0)
			read_blocks(file, block, i);
		wait_for_all();
	}
	free(block);
}

int main(int argc, char **argv)
{
	const char *size = getenv("WORLD_SIZE"), *more = argc > 3 ? argv[3] : "";
	int fd = argc > 2 ? open(argv[2], O_RDWR) : -1, file = -1;

	if (fd < 0 || !size) {
		fprintf(stderr, "ranks_step STEPS FILE [MORE], with RANK and WORLD_SIZE\n");
		return 2;
	}
	nr_ranks = (uint32_t)atoi(size);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return 3;
	if (strchr(more, '='))
		file = open(strchr(more, '=') + 1, O_RDONLY | O_DIRECT);
	if (getenv("MOCK_CUDA"))
		device_open();
	step_all((uint32_t)atoi(argv[1]), more, file);
	return 0;
}
