/* Writes the answers of a symbolizer task into the stream `symbols`. */
#include <stdlib.h>
#include <string.h>

#include "sym/resolve/task_work.h"
#include "trace/write/stream.h"

static int task_wanted_find(const void *key, const void *element)
{
	uint64_t vaddr = *(const uint64_t *)key, at = ((const struct task_wanted *)element)->vaddr;

	return vaddr < at ? -1 : vaddr > at;
}

/* True if address @i has the answer of the one before: then it needs no event of its own. */
static bool task_repeats(const struct af_sym_task *task, size_t i)
{
	if (!i)
		return false;
	const struct task_address *p = &task->addresses[i], *before = p - 1;
	return before->process == p->process && before->address == p->address &&
	       before->module == p->module && before->vaddr == p->vaddr;
}

uint64_t af_sym_task_nr(const struct af_sym_task *task)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < task->nr_addresses; i++)
		nr += !task_repeats(task, i);
	return nr;
}

/* The strings of the stream: ids are handed out in the order they are written. */
struct task_writer {
	struct af_stream *stream;
	uint64_t time_ns;
	struct af_strtab strings;
	uint32_t written;         /* ids up to here are defined in the stream */
	struct af_keys functions; /* whose FUNCTION_SOURCE is written */
	uint64_t address;         /* the last one that was written, */
	uint32_t process;         /* whose it was, */
	bool code;                /* and whether it was in device code */
};

static uint32_t task_string(struct task_writer *w, const char *text)
{
	uint32_t id = af_strtab_id_z(&w->strings, text);

	if (id > w->written) {
		struct af_ev_string ev = {.string = id};
		struct af_tail tail = {text, (uint32_t)strlen(text), 0};

		af_stream_put_tail(w->stream, AF_KIND_STRING, w->time_ns, &ev, sizeof ev, &tail, 1);
		w->written = id;
	}
	return id;
}

/*
 * Once for each function and part of one: where frame @i of @a begins, as far as anything of it is
 * known. @symbol and @names are those of the SYMBOL. Inlined functions begin nowhere.
 */
static void task_write_function(struct task_writer *w, const struct task_module *m,
                                const struct task_answer *a, uint32_t i,
                                const struct af_ev_symbol *symbol, uint32_t name)
{
	const uint32_t *frame = &m->frames[a->first + i * TASK_FRAME];
	const char *source = af_strtab_get(&m->strings, frame[TASK_FRAME_SOURCE]);
	bool begins = i + 1 == a->nr && a->symbol_known;
	bool fresh;

	if (!name || !(begins || *source))
		return;
	struct af_ev_function_source ev = {
	    .module = symbol->module,
	    .function = name,
	    .start = begins ? symbol->offset - a->symbol_offset : 0,
	    .file = task_string(w, source),
	    .line = frame[TASK_FRAME_SOURCE_LINE],
	};
	af_keys_at(&w->functions,
	           AF_KEY((uint64_t)ev.module << 32 | ev.function, ev.start,
	                  (uint64_t)ev.file << 32 | ev.line),
	           &fresh);
	if (fresh)
		af_stream_put_tail(w->stream, AF_KIND_FUNCTION_SOURCE, w->time_ns, &ev, sizeof ev,
		                   NULL, 0);
}

/* @frames gets the frames of @a with strings of the stream; their number of values. */
static uint32_t task_frames(struct task_writer *w, const struct task_module *m,
                            const struct task_answer *a, uint32_t frames[AF_SYM_INLINES * 3])
{
	for (uint32_t i = 0; i < a->nr; i++) {
		const uint32_t *frame = &m->frames[a->first + i * TASK_FRAME];

		frames[i * 3] = task_string(w, af_strtab_get(&m->strings, frame[0]));
		frames[i * 3 + 1] = task_string(w, af_strtab_get(&m->strings, frame[1]));
		frames[i * 3 + 2] = frame[2];
	}
	return a->nr * 3;
}

static int task_later_find(const void *key, const void *element)
{
	uint32_t wanted = *(const uint32_t *)key, at = ((const struct task_later *)element)->wanted;

	return wanted < at ? -1 : wanted > at;
}

/* The names that the @wanted-th address of @m gets later on, once for all epochs. */
static void task_write_later(struct task_writer *w, const struct task_module *m, uint32_t wanted,
                             const struct task_address *p)
{
	const struct task_later *later =
	    m->nr_later ? bsearch(&wanted, m->later, m->nr_later, sizeof *m->later, task_later_find)
			: NULL;
	uint32_t frames[AF_SYM_INLINES * 3];

	if (!later || (w->process == p->process && w->address == p->address))
		return;
	while (later > m->later && later[-1].wanted == wanted)
		later--;
	for (; later < m->later + m->nr_later && later->wanted == wanted; later++) {
		struct af_ev_symbol_later ev = {.process = p->process,
		                                .address = p->address,
		                                .from_ns = later->from_ns,
		                                .source = later->answer.source};
		uint32_t nr = task_frames(w, m, &later->answer, frames);
		struct af_tail tail = {frames, nr * (uint32_t)sizeof *frames, sizeof *frames};
		af_stream_put_tail(w->stream, AF_KIND_SYMBOL_LATER, w->time_ns, &ev, sizeof ev,
		                   &tail, 1);
	}
}

static void task_write_address(struct task_writer *w, const struct af_sym_task *task,
                               const struct task_address *p)
{
	const struct task_module *m = &task->modules[p->module];
	const struct task_wanted *at =
	    bsearch(&p->vaddr, m->wanted, m->nr, sizeof *m->wanted, task_wanted_find);
	const struct task_answer *a = &m->answers[at - m->wanted];
	uint32_t frames[AF_SYM_INLINES * 3], nr = task_frames(w, m, a, frames);

	struct af_ev_symbol ev = {
	    .process = p->process,
	    .address = p->address,
	    .epoch = p->epoch,
	    .module = task_string(w, a->module ? af_strtab_get(&m->strings, a->module) : m->path),
	    .offset = p->vaddr,
	    .source = a->source,
	};
	struct af_tail tail = {frames, nr * (uint32_t)sizeof *frames, sizeof *frames};
	for (uint32_t i = 0; i < a->nr; i++)
		task_write_function(w, m, a, i, &ev, frames[i * 3]);
	af_stream_put_tail(w->stream, AF_KIND_SYMBOL, w->time_ns, &ev, sizeof ev, &tail, 1);
	bool before = w->code && w->process == p->process && w->address == p->address;
	w->code = af_sym_task_write_code_address(m, (uint32_t)(at - m->wanted), before, &ev,
	                                         w->stream, w->time_ns);
	task_write_later(w, m, (uint32_t)(at - m->wanted), p);
	w->process = p->process;
	w->address = p->address;
}

void af_sym_task_write(struct af_sym_task *task, struct af_stream *s, uint64_t time_ns)
{
	struct task_writer w = {.stream = s, .time_ns = time_ns};

	for (uint32_t i = 0; i < task->nr_notes; i++) {
		const char *key = af_strtab_get(&task->note_texts, task->notes[i].key);
		const char *text = af_strtab_get(&task->note_texts, task->notes[i].text);
		struct af_tail tail[] = {{key, (uint32_t)strlen(key), 0},
		                         {text, (uint32_t)strlen(text), 0}};
		af_stream_put_tail(s, AF_KIND_NOTE, time_ns, "", 0, tail, 2);
	}

	af_sym_task_write_codes(task, s, time_ns);
	for (size_t i = 0; i < task->nr_addresses; i++)
		if (!task_repeats(task, i))
			task_write_address(&w, task, &task->addresses[i]);
	af_keys_free(&w.functions);
	af_strtab_free(&w.strings);
}
