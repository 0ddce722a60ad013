/* Code made at run time as the recorder saw it come and go while the program ran. */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/fs.h"
#include "sym/resolve/task_work.h"

enum { TASK_JIT_BYTES = 256 << 20 }; /* of all maps together */

static bool task_seen(struct af_sym_task *task, const struct task_seen *seen)
{
	size_t size = seen->len + sizeof *seen;

	if (size > TASK_JIT_BYTES - task->jit_bytes) {
		af_sym_task_note(task, "symbols.jit",
		                 "perf maps are too large: names that came late are left out");
		return false;
	}
	task->jit_bytes += size;
	AF_GROW(task->jit, task->nr_jit, task->cap_jit);
	task->jit[task->nr_jit] = *seen;
	task->jit[task->nr_jit++].text = af_arena_strdup(&task->jit_texts, seen->text, seen->len);
	return true;
}

void af_sym_task_perf_map(struct af_sym_task *task, const struct af_ev_perf_map *ev,
                          const char *text, size_t len)
{
	task_seen(task, &(struct task_seen){
			    .process = ev->process,
			    .from_ns = ev->written_ns,
			    .text = text,
			    .len = strnlen(text, len),
			});
}

/* An event ends the file that its entry had before. */
void af_sym_task_jit_image(struct af_sym_task *task, const struct af_ev_jit_image *ev,
                           const char *object)
{
	if (!ev->entry)
		return;
	uint64_t *there = af_keys_at(&task->in_list, AF_KEY(ev->process, ev->entry), NULL);
	if (*there)
		task->jit[*there - 1].till_ns = ev->from_ns;
	*there = 0;
	const struct task_seen seen = {
	    .process = ev->process,
	    .from_ns = ev->from_ns,
	    .till_ns = UINT64_MAX,
	    .entry = ev->entry,
	    .text = object,
	    .len = strlen(object),
	};
	if (*object && task_seen(task, &seen))
		*there = task->nr_jit;
}

static void task_timed_image(const struct af_sym_task *task, const struct task_seen *seen,
                             struct af_jit_timed *t)
{
	struct af_file file;
	int fd = task->where->open ? task->where->open(task->where->objects, seen->text) : -1;

	if (fd < 0)
		return;
	if (!af_file_map_fd(&file, fd)) {
		af_jit_timed_image(t, file.data, file.size, seen->from_ns, seen->till_ns);
		af_file_unmap(&file);
	}
	close(fd);
}

void af_sym_task_timed(const struct af_sym_task *task, uint32_t process, struct af_jit_timed *t)
{
	*t = (struct af_jit_timed){0};
	for (uint32_t i = 0; i < task->nr_jit && !t->table.nr_beyond; i++) {
		const struct task_seen *s = &task->jit[i];

		if (s->process != process)
			continue;
		if (s->entry)
			task_timed_image(task, s, t);
		else
			af_jit_timed_text(t, s->text, s->len, s->from_ns);
	}
	af_jit_timed_end(t);
}
