/* The CPU time that each process used itself, from the best source; and its threads. */
#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/coverage_private.h"
#include "base/arena.h"

/* While it is found: what belongs to a row. Numbers of rows are from 1; 0: none. */
struct used_row {
	uint32_t parent, child, sibling;         /* its first child, and its parent's next one */
	uint32_t nr_children, nr_waiting;        /* children; those whose own are not known yet */
	uint64_t children_user, children_kernel; /* by its own account, with theirs */
	uint64_t below_user, below_kernel;       /* the same, added up */
	uint64_t threads_user, threads_kernel;
};

struct used_maker {
	const struct coverage_pass *p;
	const struct af_world *w;
	const struct af_family *family;
	struct af_coverage *c;
	uint32_t *row_of;
	struct used_row *rows; /* of those that are processes */
	uint32_t nr, cap, cap_rows;
};

static struct af_coverage_row *row_add(struct used_maker *m, uint32_t process)
{
	AF_GROW(m->c->processes, m->c->nr_processes, m->cap);
	struct af_coverage_row *r = &m->c->processes[m->c->nr_processes++];
	*r = (struct af_coverage_row){.process = process};
	return r;
}

/* The use of a process's last image is that of all its images. */
static void take_image(struct used_maker *m, uint32_t row, uint32_t image)
{
	const struct af_process *is = &m->w->processes[image];
	struct af_coverage_row *r = &m->c->processes[row - 1];
	struct used_row *u = m->rows ? &m->rows[row - 1] : NULL;

	if (u && image < m->p->nr_images) {
		const struct coverage_image *at = &m->p->images[image];
		r->cpu.sampled_user += at->sampled_user;
		r->cpu.sampled_kernel += at->sampled_kernel;
		if (at->children_user + at->children_kernel >
		    u->children_user + u->children_kernel) {
			u->children_user = at->children_user;
			u->children_kernel = at->children_kernel;
		}
	}
	if (!is->has_usage || (r->known && is->user_ns + is->kernel_ns < af_covered_used(&r->cpu)))
		return;
	r->known = true;
	r->source = is->usage_source;
	r->cpu.used_user = is->user_ns;
	r->cpu.used_kernel = is->kernel_ns;
}

static void rows_make(struct used_maker *m)
{
	for (uint32_t i = 1; i < m->w->nr_processes; i++) {
		uint32_t last = m->family->image_of[i];
		if (!last || last >= m->w->nr_processes)
			continue;
		if (!m->row_of[last]) {
			row_add(m, last);
			AF_GROW(m->rows, m->nr, m->cap_rows);
			m->rows[m->nr++] = (struct used_row){0};
			m->row_of[last] = m->nr;
		}
		m->row_of[i] = m->row_of[last];
		take_image(m, m->row_of[i], i);
	}
}

/* A process used what its threads did, at least: those that ended with it may not be in its sum. */
static void threads_make(struct used_maker *m)
{
	uint32_t cap = 0;

	for (uint32_t i = 0; i < m->p->nr_threads; i++) {
		const struct coverage_thread *t = &m->p->threads[i];
		uint32_t row = t->process < m->w->nr_processes ? m->row_of[t->process] : 0;
		if (!row)
			continue;
		AF_GROW(m->c->threads, m->c->nr_threads, cap);
		m->c->threads[m->c->nr_threads++] =
		    (struct af_coverage_row){.process = m->c->processes[row - 1].process,
		                             .tid = t->tid,
		                             .known = t->known,
		                             .source = t->source,
		                             .cpu = t->cpu};
		if (t->known) {
			m->rows[row - 1].threads_user += t->cpu.used_user;
			m->rows[row - 1].threads_kernel += t->cpu.used_kernel;
		}
	}
	for (uint32_t r = 0; r < m->nr; r++) {
		struct af_coverage_row *row = &m->c->processes[r];
		const struct used_row *u = &m->rows[r];
		if (row->source == AF_USAGE_WATCHED ||
		    u->threads_user + u->threads_kernel <= af_covered_used(&row->cpu) + AF_TICK_NS)
			continue;
		row->cpu.used_user = u->threads_user;
		row->cpu.used_kernel = u->threads_kernel;
		row->known = true;
	}
}

static void parents_find(struct used_maker *m)
{
	for (uint32_t r = m->nr; r-- > 0;) {
		uint32_t process = m->family->parent_of[m->c->processes[r].process];
		uint32_t parent = process ? m->row_of[process] : 0;
		struct used_row *up = parent ? &m->rows[parent - 1] : NULL;
		m->rows[r].parent = parent;
		if (!up)
			continue;
		m->rows[r].sibling = up->child;
		up->child = r + 1;
		up->nr_children++;
		up->nr_waiting++;
	}
}

static void share_add(struct af_coverage_row *r, uint64_t user_ns, uint64_t kernel_ns)
{
	r->cpu.used_user += user_ns;
	r->cpu.used_kernel += kernel_ns;
	r->known = r->shared_out = true;
}

/* The sum over those children of a process that may have used more than is known. */
struct inexact {
	uint64_t used, sampled;
	uint32_t nr;
};

static struct inexact inexact_children(const struct used_maker *m, const struct used_row *up)
{
	struct inexact all = {0};

	for (uint32_t r = up->child; r; r = m->rows[r - 1].sibling) {
		const struct af_coverage_row *row = &m->c->processes[r - 1];
		if (af_coverage_is_exact(row))
			continue;
		all.used += af_covered_used(&row->cpu);
		all.sampled += af_covered_sampled(&row->cpu);
		all.nr++;
	}
	return all;
}

/* The part of @used_ns that @row lacks; parts go by samples, or are equal. */
static double lacks(const struct inexact *all, const struct af_coverage_row *row, double used_ns)
{
	double part = all->sampled ? (double)af_covered_sampled(&row->cpu) / (double)all->sampled
	                           : 1.0 / all->nr;
	double lack = used_ns * part - (double)af_covered_used(&row->cpu);

	return lack > 0 ? lack : 0;
}

/*
 * @user_ns and @kernel_ns to those children of @up that may have used more than is known, in
 * proportion to what each lacks. False: there is none.
 */
static bool share_out(struct used_maker *m, const struct used_row *up, uint64_t user_ns,
                      uint64_t kernel_ns)
{
	const struct inexact all = inexact_children(m, up);
	double used = (double)(all.used + user_ns + kernel_ns), lack = 0;
	uint64_t left_user = user_ns, left_kernel = kernel_ns;
	struct af_coverage_row *last = NULL;

	for (uint32_t r = up->child; r; r = m->rows[r - 1].sibling) {
		struct af_coverage_row *row = &m->c->processes[r - 1];
		if (af_coverage_is_exact(row))
			continue;
		double mine = lacks(&all, row, used);
		lack += mine;
		if (mine > 0 || !last)
			last = row;
	}
	for (uint32_t r = up->child; lack > 0 && r; r = m->rows[r - 1].sibling) {
		struct af_coverage_row *row = &m->c->processes[r - 1];
		double part = af_coverage_is_exact(row) ? 0 : lacks(&all, row, used) / lack;
		if (part <= 0 || row == last)
			continue;
		uint64_t user = (uint64_t)((double)user_ns * part),
			 kernel = (uint64_t)((double)kernel_ns * part);
		share_add(row, user, kernel);
		left_user -= user < left_user ? user : left_user;
		left_kernel -= kernel < left_kernel ? kernel : left_kernel;
	}
	if (last)
		share_add(last, left_user, left_kernel);
	return last != NULL;
}

/*
 * The CPU time that the children of @row used, by its own account, and that no process has yet.
 * Their use after they had reported it is small: 10 ms each, and a twentieth.
 */
static void rest_share(struct used_maker *m, uint32_t row)
{
	struct used_row *u = &m->rows[row];
	uint64_t known = u->below_user + u->below_kernel,
		 reported = u->children_user + u->children_kernel,
		 rest = reported > known ? reported - known : 0;
	uint64_t user = u->children_user > u->below_user ? u->children_user - u->below_user : 0;

	if (!rest)
		return;
	user = user < rest ? user : rest;
	if (!share_out(m, u, user, rest - user)) {
		if (rest <= (u->nr_children + 1) * AF_TICK_NS + known / 20)
			return;
		uint32_t process = m->c->processes[row].process;
		struct af_coverage_row *r = row_add(m, 0);
		r->parent = process;
		share_add(r, user, rest - user);
	}
	u->below_user += user;
	u->below_kernel += rest - user;
}

/* In older traces wait4 counted for the program what its children used, too. */
static void take_off_children(struct af_coverage_row *r, const struct used_row *u)
{
	if (r->source != AF_USAGE_WAIT)
		return;
	r->cpu.used_user -= u->below_user < r->cpu.used_user ? u->below_user : r->cpu.used_user;
	r->cpu.used_kernel -=
	    u->below_kernel < r->cpu.used_kernel ? u->below_kernel : r->cpu.used_kernel;
}

/* Children before their parents: what they share out is then known. */
static void rests_share(struct used_maker *m)
{
	for (uint32_t r = 0; r < m->nr; r++) {
		for (uint32_t at = r + 1; at && !m->rows[at - 1].nr_waiting;) {
			struct used_row *u = &m->rows[at - 1];
			const struct af_covered *cpu;
			u->nr_waiting = UINT32_MAX; /* done */
			rest_share(m, at - 1);
			take_off_children(&m->c->processes[at - 1], u);
			cpu = &m->c->processes[at - 1].cpu;
			at = u->parent;
			if (!at)
				break;
			m->rows[at - 1].below_user += cpu->used_user + u->below_user;
			m->rows[at - 1].below_kernel += cpu->used_kernel + u->below_kernel;
			m->rows[at - 1].nr_waiting--;
		}
	}
}

void coverage_used(const struct coverage_pass *p, const struct af_world *w,
                   const struct af_family *family, struct af_coverage *c, uint32_t *row_of)
{
	struct used_maker m = {.p = p, .w = w, .family = family, .c = c, .row_of = row_of};

	rows_make(&m);
	if (m.rows) {
		threads_make(&m);
		parents_find(&m);
		rests_share(&m);
	}
	free(m.rows);
}
