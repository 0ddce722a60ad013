/*
 * Signal masks. A thread that blocks the sampling signal would have no samples, so the kernel does
 * not block that signal when the program asks for it. The program's wish is kept here, per thread,
 * and the program sees its own mask whenever it asks (masks_interposers.c). The wish becomes real
 * where others would see the difference: in the next program (exec), in a child of vfork(), in
 * sigwait(). It also becomes real when a signal of that number arrives that is not a sample. Then
 * the thread *gives in*: the signal is sent again, and the kernel keeps it pending as it should,
 * until the program unblocks it. A thread that has given in is not sampled.
 *
 * This file does not see masks that are set by the bare system call; the recorder looks for them.
 */
#ifndef AF_INJECT_SAMPLER_MASKS_H
#define AF_INJECT_SAMPLER_MASKS_H

#include <signal.h>
#include <stdbool.h>

/* A thread's wish; a value, so that it can be restored. */
struct af_mask_wish {
	bool blocks;   /* the program believes that the sampling signal is blocked */
	bool given_in; /* and it really is */
};

/* Does the calling thread block the sampling signal, as the program sees it? */
bool af_masks_blocks(void);

/*
 * Take the kernel's mask as the wish: exec or clone started the calling thread with the sampling
 * signal blocked. Fit for handlers, as all functions below.
 */
void af_masks_adopt(void);

/* A new thread begins, whose creator had @wish. */
void af_masks_begin_thread(struct af_mask_wish wish);
struct af_mask_wish af_masks_wish(void);

/*
 * Change the calling thread's mask as sigprocmask(2) does; @real makes the remaining change in the
 * kernel. Returns the value of @real.
 */
int af_masks_change(int how, const sigset_t *set, sigset_t *old,
                    int (*real)(int, const sigset_t *, sigset_t *));

/*
 * A wait with a mask of its own (sigsuspend, ppoll, …) begins. Returns the mask for the kernel,
 * @mask or *@room. End the wait with af_masks_put(*@before).
 */
const sigset_t *af_masks_wait(const sigset_t *mask, sigset_t *room, struct af_mask_wish *before);

/* Make the kernel block what the program blocks, until af_masks_put() of the returned value. */
struct af_mask_wish af_masks_make_real(void);
void af_masks_put(struct af_mask_wish before);

/* A handler of the program's begins, with the sampling signal blocked or unchanged; and ends. */
struct af_mask_wish af_masks_handler_begins(bool blocks);
void af_masks_handler_ends(struct af_mask_wish before);

/* siglongjmp() restores a mask: where it leaves handlers, restore the wish from before them. */
void af_masks_jump(void);

/*
 * longjmp() restores none: where it leaves a wait that samples of the wall clock must not end
 * (inject/wall), nobody else lets them come again.
 */
void af_masks_jump_out(void);

/*
 * A signal of the sampling signal's number that is not a sample came while the program blocks it:
 * give in. @info and @context are the handler's.
 */
void af_masks_give_in(int signo, siginfo_t *info, void *context);

#endif
