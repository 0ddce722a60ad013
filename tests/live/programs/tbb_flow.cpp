/*
 * tbb_flow NR: a flow graph of oneTBB's with two nodes, through which NR numbers go, and an event
 * "added" for each. TBB's library has a static part of ITT: bodies of nodes are tasks of the domain
 * tbb.flow. It prints the sum of the squares from 1 to NR.
 */
#define TBB_USE_PROFILING_TOOLS 1
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/profiling.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

int main(int, char **argv)
{
	tbb::flow::graph graph;
	std::atomic<long> sum{0};
	tbb::flow::function_node<int, int> square(graph, 1, [](int v) { return v * v; });
	tbb::flow::function_node<int, int> add(graph, 1, [&](int v) {
		sum += v;
		tbb::profiling::event::emit("added");
		return 0;
	});

	tbb::flow::make_edge(square, add);
	for (int i = 1; i <= std::atoi(argv[1]); i++)
		square.try_put(i);
	graph.wait_for_all();
	std::printf("%ld\n", sum.load());
}
