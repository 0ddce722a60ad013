/*
 * The length of a trace and the number of the program's steps in it, for comparing traces.
 */
#ifndef AF_ANALYSE_FUNCTIONS_STEPS_H
#define AF_ANALYSE_FUNCTIONS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The results of af_pass_steps, in struct af_query's `own`. A step is an NVTX range or mark called
 * @name, or @name and a number ("step 12", "ProfilerStep#12"), of every thread and process: eight
 * ranks have eight times as many.
 */
struct af_steps {
	const char *name; /* NULL: none are counted */
	uint64_t nr;
	uint64_t wall_ns; /* recorded time, without the time that recording was off */
};

struct af_pass_ops;
extern const struct af_pass_ops af_pass_steps; /* answers AF_ANSWER_OWN */

/* Is a range called @text one of the steps called @name? */
bool af_steps_are(const char *name, const char *text, size_t len);

#endif
