/*
 * Calls under way, in the ring's first page: what a thread is inside of can be seen while it waits,
 * and stays when it is killed. One thread writes; the recorder reads when the process is gone.
 */
#ifndef AF_INJECT_API_OPEN_H
#define AF_INJECT_API_OPEN_H

/* Attach to the session, once recording has begun. */
void af_api_start(void);

/*
 * The calling thread ends, with its context @t entered: calls that it is still inside of will not
 * return.
 */
struct af_thread_context;
void af_api_thread_ends(struct af_thread_context *t);

#endif
