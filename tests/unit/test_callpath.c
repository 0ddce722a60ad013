#include "inject/core/callpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/core/thread.h"

enum { FRAMES = 10, IDS = 1 << 18 };

struct fixture {
	struct af_stream s;
	struct af_callpaths paths;
	struct af_capture c;
	uint32_t *content; /* by id: which stack it was given to, plus 1 */
	char path[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	f->content = calloc(IDS, sizeof *f->content);
	strcpy(f->path, "/tmp/af-callpath-XXXXXX");
	int fd = mkstemp(f->path);
	if (fd < 0)
		return -1;
	close(fd);
	unlink(f->path);
	*state = f;
	return af_stream_open_ring(&f->s, f->path, 1, 1, 1, 1);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	af_stream_close(&f->s);
	unlink(f->path);
	free(f->content);
	free(f);
	return 0;
}

/* Its id; a full ring is made anew, as the recorder would have drained it. */
static uint32_t stack_id(struct fixture *f)
{
	uint32_t id = af_callpath_stack(&f->paths, &f->s, &f->c);

	if (id)
		return id;
	af_stream_close(&f->s);
	unlink(f->path);
	assert_int_equal(af_stream_open_ring(&f->s, f->path, 1, 1, 1, 1), 0);
	return af_callpath_stack(&f->paths, &f->s, &f->c);
}

/*
 * A function that calls itself from two places: all its stacks of FRAMES frames are different, and
 * differ in few bits. Those that the memo forgets get a new id, so no id stands for two.
 */
static void recursion_from_two_places(void **state)
{
	struct fixture *f = *state;
	uint32_t of_pattern = 0;

	f->c.nr = FRAMES;
	for (uint64_t apart = 1; apart < 64; apart++)
		for (uint32_t pattern = 0; pattern < 1u << FRAMES; pattern++) {
			for (unsigned i = 0; i < FRAMES; i++)
				f->c.pcs[i] = 0x555555555140 ^ (pattern >> i & 1 ? apart : 0);
			/* The same stack whatever they are apart. */
			of_pattern = pattern ? (uint32_t)(apart << FRAMES | pattern) : 0;
			uint32_t id = stack_id(f);
			assert_in_range(id, 1, IDS - 1);
			if (f->content[id])
				assert_int_equal(f->content[id], of_pattern + 1);
			f->content[id] = of_pattern + 1;
		}
}

static void why_it_ended_and_how_long_it_is_count(void **state)
{
	struct fixture *f = *state;
	uint32_t seen[8] = {0}, nr = 0;

	for (f->c.nr = 0; f->c.nr < 4; f->c.nr++)
		for (unsigned stop = 0; stop < 2; stop++) {
			f->c.stop = stop ? AF_STOP_NO_RULE : AF_STOP_COMPLETE;
			seen[nr++] = stack_id(f);
		}
	for (unsigned i = 0; i < nr; i++)
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(seen[i], seen[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(recursion_from_two_places, setup, teardown),
	    cmocka_unit_test_setup_teardown(why_it_ended_and_how_long_it_is_count, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
