/*
 * namesakes [SCALE]: three functions of one name, in two libraries and the program.
 *
 * Truth: of the CPU time, the static helper of libnamesake_a.so has 30 %, called by a_run, that of
 * libnamesake_b.so 60 %, called by b_run, and the program's own 10 %, called by main; about 2 s of
 * CPU, one thread, interleaved every millisecond.
 *
 * Exit status: 0, or 1 when the measured shares are not these.
 */
#include "burn.h"

BURN_SINK;
BURN_FUNCTION(helper, BURN_C)

void a_run(unsigned long us);
void b_run(unsigned long us);

int main(int argc, char **argv)
{
	const unsigned long rounds = (unsigned long)(2000 * burn_scale(argc, argv));
	int64_t ns[3] = {0}, whole;

	for (unsigned long i = 0; i < rounds; i++) {
		int64_t at[4] = {burn_thread_ns()};
		a_run(300);
		at[1] = burn_thread_ns();
		b_run(600);
		at[2] = burn_thread_ns();
		helper(100);
		at[3] = burn_thread_ns();
		for (int k = 0; k < 3; k++)
			ns[k] += at[k + 1] - at[k];
	}
	whole = ns[0] + ns[1] + ns[2];
	truth_share("libnamesake_a.so!helper", ns[0], whole);
	truth_share("libnamesake_b.so!helper", ns[1], whole);
	truth_share("namesakes!helper", ns[2], whole);
	return share_is_wrong(ns[0], whole, 0.3) | share_is_wrong(ns[1], whole, 0.6) |
	       share_is_wrong(ns[2], whole, 0.1);
}
