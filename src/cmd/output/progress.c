#include "cmd/output/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "trace/write/stream.h"

enum { FIRST_NS = 500000000, AGAIN_NS = 200000000 };

static struct af_progress_shared *progress_shared;

void af_progress_share(struct af_progress_shared *shared)
{
	progress_shared = shared;
}

struct af_progress af_progress_begin(const char *what)
{
	if (progress_shared) {
		atomic_store(&progress_shared->done, 0);
		atomic_store(&progress_shared->what, what);
		return (struct af_progress){.what = what};
	}
	uint64_t next_ns = isatty(STDERR_FILENO) ? af_now_ns() + FIRST_NS : UINT64_MAX;

	return (struct af_progress){.what = what, .next_ns = next_ns};
}

void af_progress_tell(void *progress, uint64_t done, uint64_t size)
{
	struct af_progress *p = progress;

	if (progress_shared) {
		atomic_store(&progress_shared->done, done);
		atomic_store(&progress_shared->size, size);
		return;
	}
	uint64_t now = p->next_ns == UINT64_MAX ? 0 : af_now_ns();

	if (now < p->next_ns || !size)
		return;
	p->next_ns = now + AGAIN_NS;
	p->shown = true;
	fprintf(stderr, "\raflame: %s: %.0f %%", p->what, (double)done * 100 / (double)size);
}

void af_progress_end(const struct af_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
}
