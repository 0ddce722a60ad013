#include "inject/sampler/masks.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "inject/arch/arch.h"
#include "inject/core/inject.h"
#include "inject/sampler/sampler.h"
#include "inject/sampler/signals.h"
#include "inject/walk/guard.h"

static __thread struct {
	struct af_mask_wish wish;
	struct af_mask_wish outermost; /* when the first of @handlers began */
	uint32_t handlers;             /* of the program's that have begun and not ended */
	pid_t real_in;                 /* a child of vfork() whose mask is real */
} self;

/* The kernel's sigset is a word. Not through libc, whose functions we stand in for. */
static uint64_t bit_of(int signo)
{
	return 1ull << (signo - 1);
}

static void kernel_mask(int how, uint64_t set)
{
	af_arch_syscall(SYS_rt_sigprocmask, how, (long)&set, 0, sizeof set);
}

/* No more than the kernel reads: callers of the raw interface have no more. */
static sigset_t without(const sigset_t *set, int signo)
{
	sigset_t less;

	sigemptyset(&less);
	memcpy(&less, set, sizeof(uint64_t));
	sigdelset(&less, signo);
	return less;
}

bool af_masks_blocks(void)
{
	return self.wish.blocks;
}

struct af_mask_wish af_masks_wish(void)
{
	return self.wish;
}

void af_masks_adopt(void)
{
	int signo = af_signals_sampling();
	uint64_t mask = 0;

	if (!signo || self.wish.blocks)
		return;
	af_arch_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, sizeof mask);
	if (!(mask & bit_of(signo)))
		return;
	self.wish = (struct af_mask_wish){.blocks = true};
	kernel_mask(SIG_UNBLOCK, bit_of(signo));
}

void af_masks_begin_thread(struct af_mask_wish wish)
{
	self.wish = wish;
	if (wish.blocks)
		kernel_mask(wish.given_in ? SIG_BLOCK : SIG_UNBLOCK, bit_of(af_signals_sampling()));
}

struct af_mask_wish af_masks_make_real(void)
{
	struct af_mask_wish before = self.wish;

	if (!before.blocks || before.given_in)
		return before;
	/* A child of vfork() shares our memory, not our mask: what is real there is not here. */
	if (!af_inject_in_vfork_child())
		self.wish.given_in = true;
	else if (self.real_in == getpid())
		return before;
	else
		self.real_in = getpid();
	kernel_mask(SIG_BLOCK, bit_of(af_signals_sampling()));
	return before;
}

void af_masks_put(struct af_mask_wish before)
{
	int signo = af_signals_sampling();

	if (!signo || af_inject_in_vfork_child())
		return;
	if (self.wish.given_in && !before.given_in)
		kernel_mask(SIG_UNBLOCK, bit_of(signo));
	self.wish = before;
}

static bool wish_after(int how, bool names_it, bool before)
{
	switch (how) {
	case SIG_BLOCK:
		return before || names_it;
	case SIG_UNBLOCK:
		return before && !names_it;
	}
	return names_it; /* SIG_SETMASK */
}

int af_masks_change(int how, const sigset_t *set, sigset_t *old,
                    int (*real)(int, const sigset_t *, sigset_t *))
{
	int signo = af_signals_sampling();
	struct af_mask_wish before = self.wish;
	bool names_it = signo && set && sigismember(set, signo);

	if (!names_it && !before.blocks)
		return real(how, set, old);
	if (af_inject_in_vfork_child()) {
		af_masks_make_real();
		return real(how, set, old);
	}

	bool blocks = set ? wish_after(how, names_it, before.blocks) : before.blocks;
	sigset_t less;
	if (names_it && how != SIG_UNBLOCK && !before.given_in) {
		less = without(set, signo);
		set = &less;
	}
	/* The kernel delivers pending signals before the call returns. */
	self.wish = (struct af_mask_wish){blocks, before.given_in && blocks};
	int rc = real(how, set, old);
	if (rc)
		self.wish = before;
	else if (old && before.blocks)
		sigaddset(old, signo);
	return rc;
}

const sigset_t *af_masks_wait(const sigset_t *mask, sigset_t *room, struct af_mask_wish *before)
{
	int signo = af_signals_sampling();
	uint64_t word;

	*before = self.wish;
	/* A timer's signal would end the wait, which the program asked it not to. */
	if (!mask || signo != SIGTRAP || af_guarded_read(&word, (uint64_t)mask, sizeof word) ||
	    af_inject_in_vfork_child())
		return mask;
	self.wish.blocks = word & bit_of(signo);
	if (!self.wish.blocks || before->given_in)
		return mask;
	*room = without(mask, signo);
	return room;
}

struct af_mask_wish af_masks_handler_begins(bool blocks)
{
	struct af_mask_wish before = self.wish;

	if (!self.handlers++)
		self.outermost = before;
	self.wish.blocks |= blocks;
	return before;
}

void af_masks_handler_ends(struct af_mask_wish before)
{
	if (self.handlers)
		self.handlers--;
	/* The kernel's mask is the interrupted one when the handler returns. */
	self.wish = before;
}

void af_masks_jump(void)
{
	if (!self.handlers)
		return;
	self.handlers = 0;
	self.wish = self.outermost;
}

void af_masks_jump_out(void)
{
	const struct af_session *session = af_inject_session();

	if (session && session->flags & AF_SESSION_WALL && af_signals_sampling() &&
	    !self.wish.given_in && self.real_in != getpid())
		kernel_mask(SIG_UNBLOCK, bit_of(af_signals_sampling()));
}

/* Sent to the thread, not to the process? */
static bool is_for_thread(const siginfo_t *info)
{
	return info->si_code == SI_TKILL || info->si_code == TRAP_PERF;
}

void af_masks_give_in(int signo, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	uint64_t mask;

	/* Blocked from the handler's return on; within it all signals are. */
	memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
	mask |= bit_of(signo);
	memcpy(&interrupted->uc_sigmask, &mask, sizeof mask);
	self.wish.given_in = true;
	if (is_for_thread(info))
		af_arch_syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signo,
		                (long)info);
	else
		af_arch_syscall(SYS_rt_sigqueueinfo, getpid(), signo, (long)info, 0);
}
