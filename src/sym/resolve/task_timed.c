/* Code made at run time as the recorder saw it come and go while the program ran. */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/fs.h"
#include "sym/module/module.h"
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

/* The bytes of image @number; false: they cannot be read. The caller unmaps them. */
static bool task_image_map(const struct af_sym_task *task, uint32_t number, struct af_file *file)
{
	const struct task_seen *seen = &task->jit[number - 1];
	int fd = task->where->open ? task->where->open(task->where->objects, seen->text) : -1;

	if (fd < 0)
		return false;
	int rc = af_file_map_fd(file, fd);
	close(fd);
	return !rc;
}

struct af_sym_module *af_sym_task_image(const struct af_sym_task *task, uint32_t number)
{
	struct af_sym_module *m;
	struct af_file file;

	if (!task_image_map(task, number, &file))
		return NULL;
	m = af_sym_module_image(file.data, file.size);
	af_file_unmap(&file);
	return m;
}

static void task_timed_image(const struct af_sym_task *task, uint32_t number,
                             struct af_jit_timed *t)
{
	const struct task_seen *seen = &task->jit[number - 1];
	struct af_file file;

	if (!task_image_map(task, number, &file))
		return;
	af_jit_timed_image(
	    t, &(struct af_jit_image){file.data, file.size, number, seen->from_ns, seen->till_ns});
	af_file_unmap(&file);
}

void af_sym_task_timed(const struct af_sym_task *task, uint32_t process, struct af_jit_timed *t)
{
	*t = (struct af_jit_timed){0};
	for (uint32_t i = 0; i < task->nr_jit && !t->table.nr_beyond; i++) {
		const struct task_seen *s = &task->jit[i];

		if (s->process != process)
			continue;
		if (s->entry)
			task_timed_image(task, i + 1, t);
		else
			af_jit_timed_text(t, s->text, s->len, s->from_ns);
	}
	af_jit_timed_end(t);
}
