/* Payloads of calls of MPI, laid out by the tables that readers decode them by. */
#include <stdlib.h>
#include <string.h>

#include "api/tables/tables.h"
#include "gen_set.h"

enum { WORLD = 1140850688, MPI_BYTE_TYPE = 1275068685, MPI_SUM_OP = 1476395011 };

struct made {
	uint16_t kind;
	uint32_t size, peer, tag, count, status, bytes_at;
	uint8_t payload[256];
};

static const char *const names[CALLS] = {"MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Allreduce",
                                         "MPI_Finalize"};

const char *set_call_name(enum set_call call)
{
	return names[call];
}

static void pointee_add(struct made *m, const struct af_api_param *p)
{
	uint32_t times = p->is_inout ? 2 : 1;

	if (p->pointee == AF_API_ONE)
		m->size += times * p->target->size;
	else if (p->pointee == AF_API_ARRAY || p->pointee == AF_API_PAIRS)
		m->size += times * 2;
	else if (p->pointee == AF_API_STRING)
		m->size += times;
}

static void made_fill(struct made *m, const struct af_api_function *f)
{
	static const struct {
		const char *name;
		uint64_t value;
	} values[] = {{"buf", 0x7f0000001000},     {"sendbuf", 0x7f0000001000},
	              {"recvbuf", 0x7f0000009000}, {"comm", WORLD},
	              {"datatype", MPI_BYTE_TYPE}, {"op", MPI_SUM_OP}};

	m->size = f->fixed;
	m->bytes_at = f->has_bytes ? f->bytes_at : 0;
	struct af_api_head head = {.callpath = PATH_MPI};
	memcpy(m->payload, &head, sizeof head);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct af_api_param *p = &f->params[i];
		if (!strcmp(p->name, "status"))
			m->status = m->size;
		pointee_add(m, p);
		if (!strcmp(p->name, "dest") || !strcmp(p->name, "source"))
			m->peer = p->at;
		if (!strcmp(p->name, "tag"))
			m->tag = p->at;
		if (!strcmp(p->name, "count"))
			m->count = p->at;
		for (size_t v = 0; v < sizeof values / sizeof *values; v++)
			if (!strcmp(p->name, values[v].name))
				memcpy(m->payload + p->at, &values[v].value, p->type->size);
	}
	if (m->size > sizeof m->payload)
		abort();
}

static struct made *made_of(enum set_call call)
{
	static struct made all[CALLS];
	struct made *m = &all[call];
	const struct af_api_table *mpi = af_api_named("mpi");

	for (uint16_t i = 0; mpi && !m->kind && i < mpi->nr_functions; i++)
		if (mpi->functions[i].name && !strcmp(mpi->functions[i].name, names[call])) {
			m->kind = (uint16_t)(mpi->kind + i);
			made_fill(m, &mpi->functions[i]);
		}
	if (!m->kind)
		abort();
	return m;
}

uint64_t set_call_put(struct af_stream *s, enum set_call call, uint64_t begin, uint64_t end,
                      const struct set_message *m)
{
	struct made *is = made_of(call);
	uint64_t ns = end - begin, bytes = m ? m->bytes : 0;
	struct af_api_head head = {.callpath = PATH_MPI, .duration_ns = af_u48_make(ns)};

	memcpy(is->payload, &head, sizeof head);
	if (m && is->count)
		memcpy(is->payload + is->count, &m->bytes, sizeof m->bytes);
	if (m && is->bytes_at)
		memcpy(is->payload + is->bytes_at, &bytes, sizeof bytes);
	if (m && is->peer) {
		memcpy(is->payload + is->peer, &m->peer, sizeof m->peer);
		memcpy(is->payload + is->tag, &m->tag, sizeof m->tag);
	}
	if (m && is->status) {
		memcpy(is->payload + is->status, &m->peer, sizeof m->peer);
		memcpy(is->payload + is->status + 4, &m->tag, sizeof m->tag);
		memcpy(is->payload + is->status + 16, &bytes, sizeof bytes);
	}
	void *at = af_stream_begin(s, (enum af_kind)is->kind, end, is->size);
	if (at) {
		memcpy(at, is->payload, is->size);
		af_stream_end(s);
	}
	return ns;
}
