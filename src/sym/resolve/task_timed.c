/* Code made at run time as the recorder saw it come and go while the program ran. */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/fs.h"
#include "sym/resolve/task_work.h"

enum { TASK_JIT_BYTES = 256 << 20 }; /* of all maps together */

static void task_seen(struct af_sym_task *task, const struct task_seen *seen)
{
	if (seen->len > TASK_JIT_BYTES - task->jit_bytes) {
		af_sym_task_note(task, "symbols.jit",
		                 "perf maps are too large: names that came late are left out");
		return;
	}
	task->jit_bytes += seen->len;
	AF_GROW(task->jit, task->nr_jit, task->cap_jit);
	task->jit[task->nr_jit] = *seen;
	task->jit[task->nr_jit++].text = af_arena_strdup(&task->jit_texts, seen->text, seen->len);
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

void af_sym_task_jit_image(struct af_sym_task *task, const struct af_ev_jit_image *ev,
                           const char *object)
{
	if (ev->entry)
		task_seen(task, &(struct task_seen){
				    .process = ev->process,
				    .from_ns = ev->from_ns,
				    .entry = ev->entry,
				    .text = object,
				    .len = strlen(object),
				});
}

/* When the image of @seen left the list: at the next event of its entry. */
static uint64_t task_image_till(const struct af_sym_task *task, const struct task_seen *seen)
{
	for (const struct task_seen *s = seen + 1; s < task->jit + task->nr_jit; s++)
		if (s->process == seen->process && s->entry == seen->entry)
			return s->from_ns;
	return UINT64_MAX;
}

static void task_timed_image(const struct af_sym_task *task, const struct task_seen *seen,
                             struct af_jit_timed *t)
{
	struct af_file file;
	int fd = *seen->text && task->where->open
	             ? task->where->open(task->where->objects, seen->text)
	             : -1;

	if (fd < 0)
		return;
	if (!af_file_map_fd(&file, fd)) {
		af_jit_timed_image(t, file.data, file.size, seen->from_ns,
		                   task_image_till(task, seen));
		af_file_unmap(&file);
	}
	close(fd);
}

void af_sym_task_timed(const struct af_sym_task *task, uint32_t process, struct af_jit_timed *t)
{
	*t = (struct af_jit_timed){0};
	for (uint32_t i = 0; i < task->nr_jit; i++) {
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
