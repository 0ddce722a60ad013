/*
 * cuda_forks: a process that forks before and after it starts CUDA.
 *
 * Truth: the child of before uses CUDA on its own and launches k1 of 20 us 10 times from
 * in_child(). The parent then starts CUDA and launches k2 of 20 us 15 times from in_parent(), the
 * last five after it forked again; in that child CUDA refuses every call. A third child executes
 * this program anew as "cuda_forks child", which launches k3 5 times from in_exec().
 */
#include "cuda_setup.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CUDA_FORK_REFUSED = 5 };

static struct cuda cuda;

__attribute__((noinline)) static void in_child(void)
{
	cuda_launch(cuda.k[0], NULL, 20000);
}

__attribute__((noinline)) static void in_parent(void)
{
	cuda_launch(cuda.k[1], NULL, 20000);
}

__attribute__((noinline)) static void in_exec(void)
{
	cuda_launch(cuda.k[2], NULL, 20000);
}

static int run(void (*launch)(void), int times)
{
	cuda_open(&cuda, 0);
	for (int i = 0; i < times; i++)
		launch();
	CUDA_CHECK(cuCtxSynchronize());
	cuda_close(&cuda);
	return 0;
}

static int wait_for(pid_t child, int want)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		return 1;
	return WIFEXITED(status) && WEXITSTATUS(status) == want ? 0 : 1;
}

static int launch_after_fork(void)
{
	uint64_t ns = 1000;
	void *params[] = {&ns};

	return cuLaunchKernel(cuda.k[1], 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL)
	           ? CUDA_FORK_REFUSED
	           : 0;
}

int main(int argc, char **argv)
{
	pid_t child;
	int bad = 0;

	if (argc > 1 && !strcmp(argv[1], "child"))
		return run(in_exec, 5);
	child = fork();
	if (!child)
		return run(in_child, 10);
	bad |= wait_for(child, 0);
	cuda_open(&cuda, 0);
	for (int i = 0; i < 10; i++)
		in_parent();
	child = fork();
	if (!child)
		return launch_after_fork();
	bad |= wait_for(child, CUDA_FORK_REFUSED);
	for (int i = 0; i < 5; i++)
		in_parent();
	child = fork();
	if (!child) {
		execl("/proc/self/exe", argv[0], "child", NULL);
		return 1;
	}
	bad |= wait_for(child, 0);
	CUDA_CHECK(cuCtxSynchronize());
	cuda_close(&cuda);
	cuda_truth("k1", 10);
	cuda_truth("k2", 15);
	cuda_truth("k3", 5);
	cuda_truth_print();
	return bad;
}
