/*
 * kokkos_work HOW: a program of Kokkos's, on the back end that the library was built with.
 *
 * all: 5 steps, each a region "step" with a parallel_for "axpy", a parallel_reduce "dot" and, in
 * the even ones, a deep copy of 8000 bytes from "x" to "y"; a parallel_scan "sum" after them; two
 * sections "left" and "right" that overlap; an event "half".
 * hostile: regions that are ended too often, and one whose name is a terminal's escape; sections
 * that are stopped twice and never; a region that is open at the exit.
 * Each prints "done" last. Exit status 0.
 */
#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ProfileSection.hpp>

#include <cstdio>
#include <cstring>
#include <unistd.h>

enum { CELLS = 1000, STEPS = 5 };
using cells = Kokkos::View<double *, Kokkos::DefaultExecutionSpace>;

static void steps()
{
	cells x("x", CELLS), y("y", CELLS);

	for (int step = 0; step < STEPS; step++) {
		double dot = 0;
		Kokkos::Profiling::pushRegion("step");
		Kokkos::parallel_for(
		    "axpy", CELLS, KOKKOS_LAMBDA(int i) { y(i) += 2 * x(i) + i; });
		Kokkos::parallel_reduce(
		    "dot", CELLS, KOKKOS_LAMBDA(int i, double &sum) { sum += x(i) * y(i); }, dot);
		if (step % 2 == 0)
			Kokkos::deep_copy(y, x);
		Kokkos::Profiling::popRegion();
	}
	Kokkos::parallel_scan(
	    "sum", CELLS, KOKKOS_LAMBDA(int i, double &sum, bool) { sum += x(i); });
}

static void sections()
{
	Kokkos::Profiling::ProfilingSection left("left"), right("right");

	left.start();
	right.start();
	Kokkos::Profiling::markEvent("half");
	left.stop();
	right.stop();
}

static void hostile()
{
	Kokkos::Profiling::ProfilingSection twice("twice");
	static Kokkos::Profiling::ProfilingSection never("never");

	Kokkos::Profiling::popRegion();
	Kokkos::Profiling::pushRegion("\033[31mred\033]0;title\007");
	Kokkos::Profiling::popRegion();
	Kokkos::Profiling::popRegion();
	twice.start();
	twice.stop();
	twice.stop();
	never.start();
	Kokkos::Profiling::pushRegion("open");
}

int main(int argc, char **argv)
{
	Kokkos::initialize(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "hostile")) {
		hostile();
	} else {
		steps();
		sections();
	}
	puts("done");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "hostile"))
		_exit(0);
	Kokkos::finalize();
	return 0;
}
