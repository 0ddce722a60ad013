/*
 * A plug-in of aflame in C++: samples by the name of their thread and the function that they found,
 * and how many events of each kind the trace has.
 *
 *	c++ -shared -fPIC cpu_by_thread.cc -o cpu_by_thread.so
 *	aflame report --plugin ./cpu_by_thread.so DIR
 */
#include <aflame/pass.h>
#include <map>
#include <string>
#include <utility>

namespace
{
struct Sum {
	uint64_t samples = 0, ns = 0;
};

struct Pass {
	std::map<std::pair<std::string, std::string>, Sum> sums;
	std::map<uint32_t, uint64_t> kinds;
};

/* No exception may leave a callback: aflame is in C. */
int begin(const af_pass_host *h, int, char **, void **state)
{
	*state = new Pass;
	return h->want(h, nullptr);
}

void event(const af_pass_host *, void *state, const af_pass_event *ev)
{
	static_cast<Pass *>(state)->kinds[ev->kind]++;
}

void sample(const af_pass_host *h, void *state, const af_pass_sample *s)
{
	af_pass_frame frame = {};

	frame.size = sizeof frame;
	if (h->frame(h, s->stack, &frame))
		return;
	auto &sum = static_cast<Pass *>(state)->sums[{h->thread_name(h, s->process, s->tid), frame.text}];
	sum.samples++;
	sum.ns += s->weight_ns;
}

int finish(const af_pass_host *h, void *state)
{
	static const af_pass_column columns[] = {
	    {"thread", "Thread", AF_PASS_UNIT_TEXT, AF_PASS_MERGE_KEY, nullptr, nullptr, {}},
	    {"function", "Function", AF_PASS_UNIT_TEXT, AF_PASS_MERGE_KEY, nullptr, nullptr, {}},
	    {"samples", "Samples", AF_PASS_UNIT_COUNT, AF_PASS_MERGE_SUM, nullptr, nullptr, {}},
	    {"time_ns", "CPU time", AF_PASS_UNIT_NS, AF_PASS_MERGE_SUM, nullptr, nullptr, {}},
	};
	static const af_pass_column kinds[] = {
	    {"kind", "Kind", AF_PASS_UNIT_TEXT, AF_PASS_MERGE_KEY, nullptr, nullptr, {}},
	    {"events", "Events", AF_PASS_UNIT_COUNT, AF_PASS_MERGE_SUM, nullptr, nullptr, {}},
	};
	auto pass = static_cast<Pass *>(state);
	int table = h->table(h, "cpu_by_thread", "CPU time by thread and function", columns, 4);

	for (const auto &[key, sum] : pass->sums) {
		const af_pass_cell cells[] = {{key.first.c_str(), 0, 0, 0}, {key.second.c_str(), 0, 0, 0},
		                              {nullptr, sum.samples, 0, 0}, {nullptr, sum.ns, 0, 0}};
		h->row(h, table, cells, 4);
	}
	table = h->table(h, "events_by_kind", "Events by kind", kinds, 2);
	for (const auto &[kind, nr] : pass->kinds) {
		const af_pass_cell cells[] = {{h->kind_name(h, kind), 0, 0, 0}, {nullptr, nr, 0, 0}};
		h->row(h, table, cells, 2);
	}
	delete pass;
	return 0;
}
} // namespace

AF_PASS_DESCRIPTOR = {sizeof(af_pass_descriptor), AF_PASS_MAJOR, AF_PASS_MINOR, "cpu by thread",
                      "CPU time by thread and function, and events by kind", begin, event, sample,
                      nullptr, finish};
