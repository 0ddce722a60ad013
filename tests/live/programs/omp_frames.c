/*
 * omp_frames NR: NR parallel regions of two threads. Intel's and LLVM's OpenMP runtimes have a
 * static part of ITT, and report each region as a frame when it is over.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	double sum = 0;

	for (int k = argc > 1 ? atoi(argv[1]) : 0; k > 0; k--) {
#pragma omp parallel for reduction(+ : sum) num_threads(2)
		for (int i = 0; i < 100000; i++)
			sum += i * 0.5;
	}
	printf("%.0f\n", sum);
	return 0;
}
