/*
 * The processes that a launcher (mpirun, srun) started to read one set together: their number, and
 * bytes from one to the other. They talk by the MPI of the launcher, which is found at run time;
 * a process that no launcher started never loads it.
 *
 *	af_reduce_open → af_reduce_share → read that part → af_reduce_join → af_reduce_close
 *
 * All processes of a job make the same calls in the same order, also after a failure of their own,
 * which they hand on (af_reduce_join). One thread.
 */
#ifndef AF_REDUCE_REDUCE_H
#define AF_REDUCE_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_buf;
struct af_err;
struct af_reduce_mpi;

struct af_reduce {
	uint32_t rank, size; /* 0 of 1 where there is no launcher */
	/* Another process answers: this one reads its part and prints nothing. */
	bool silent;
	/* Why a launched process reads alone, with what to do; or "". Process 0 prints it. */
	char alone[256];
	struct af_reduce_mpi *mpi; /* NULL: size is 1 */
};

/* Did a launcher start this process, as one of several? */
bool af_reduce_is_launched(void);

/* The rank that a launcher gave this process, as one of several, in its environment; else 0. */
uint32_t af_reduce_launched_rank(void);

/* Only process 0 does what follows, alone. Is this one that? */
bool af_reduce_one(void);

/*
 * Join the other processes, the first time; later calls give a process alone. Where their MPI
 * cannot be used, process 0 reads alone, and the others have nothing to do. The caller closes @r.
 */
void af_reduce_open(struct af_reduce *r);
void af_reduce_close(struct af_reduce *r); /* a zeroed struct is fine */

/* Send @size bytes to the process @to, and receive what @from sends, in place of what @to holds. */
int af_reduce_send(struct af_reduce *r, uint32_t to, const void *data, size_t size,
                   struct af_err *err);
int af_reduce_receive(struct af_reduce *r, uint32_t from, struct af_buf *to, struct af_err *err);

/* The bytes in @b of process 0 become those of all. */
int af_reduce_broadcast(struct af_reduce *r, struct af_buf *b, struct af_err *err);

/* The part of one process: members in a row, and its place in the order of these parts. */
struct af_reduce_part {
	uint32_t first, nr;
	uint32_t place;
	uint32_t *at; /* by place: the process */
};

/*
 * Share @nr members out, whose hosts are @hosts, in equal parts: a process whose host has members
 * gets a part near them. The caller frees part->at.
 */
int af_reduce_share(struct af_reduce *r, const char *const *hosts, uint32_t nr,
                    struct af_reduce_part *part, struct af_err *err);

/* How results become bytes, and how those of later members are added to them. */
struct af_reduce_ops {
	void (*write)(const void *result, struct af_buf *to);
	int (*join)(void *result, const void *data, size_t size, struct af_err *err);
	void (*empty)(void *result); /* as it was before anything was read */
};

/*
 * Join the results of all processes, in the order of their members, by a binomial tree: @result of
 * process 0 is that of all afterwards. @rc and @err are what became of this process's reading: the
 * first failure in the order of members is that of process 0, and others return 0 or their own.
 */
int af_reduce_join(struct af_reduce *r, const struct af_reduce_part *part,
                   const struct af_reduce_ops *ops, void *result, int rc, struct af_err *err);

#endif
