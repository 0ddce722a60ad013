#include "inject/sampler/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "inject/arch/arch.h"
#include "inject/walk/guard.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* System calls that recording makes, with the arguments that filters check. */
static const struct {
	int call;
	uint64_t args[6];
} needed[] = {
    {SYS_gettid, {0}},
    {SYS_getpid, {0}},
    {SYS_openat, {(uint64_t)AT_FDCWD, 0, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600}},
    {SYS_openat, {3, 0, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600}},
    {SYS_fstat, {3}},
    {SYS_newfstatat, {3}},
    {SYS_geteuid, {0}},
#ifdef SYS_access
    {SYS_access, {0}},
#else
    {SYS_faccessat, {(uint64_t)AT_FDCWD}},
#endif
    {SYS_ftruncate, {3}},
    {SYS_fallocate, {3}},
    {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3}},
    {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1}},
    {SYS_madvise, {0, 4096, MADV_POPULATE_WRITE}},
    {SYS_munmap, {0, 4096}},
    {SYS_read, {3}},
    {SYS_close, {3}},
    {SYS_unlinkat, {3}},
    {SYS_rt_sigprocmask, {(uint64_t)-1}},
    {SYS_sigaltstack, {0}},
    {SYS_prlimit64, {0}},
    {SYS_prctl, {PR_GET_NAME}},
    {SYS_tgkill, {0}},
    {SYS_getrusage, {0}},
    {SYS_clock_gettime, {(uint32_t)-2}},
#ifdef SYS_readlink
    {SYS_readlink, {0}},
#else
    {SYS_readlinkat, {(uint64_t)AT_FDCWD}},
#endif
    {SYS_getppid, {0}},
    {SYS_socket, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC}},
    {SYS_sendmsg, {3}},
    {SYS_perf_event_open, {0}},
    {SYS_timer_create, {0}},
    {SYS_timer_settime, {0}},
    {SYS_timer_gettime, {0}},
    {SYS_timer_delete, {0}},
    {SYS_rt_tgsigqueueinfo, {0}},
    {SYS_rt_sigreturn, {0}},
};

struct filter_run {
	struct seccomp_data data;
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t filter_alu(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	case BPF_XOR:
		return a ^ b;
	}
	return -a; /* BPF_NEG */
}

static bool filter_jumps(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	}
	return (a & b) != 0; /* BPF_JSET */
}

static uint32_t filter_load(const struct filter_run *r, const struct sock_filter *f)
{
	uint32_t word = 0;

	switch (BPF_MODE(f->code)) {
	case BPF_ABS:
		if (f->k <= sizeof r->data - sizeof word)
			memcpy(&word, (const char *)&r->data + f->k, sizeof word);
		return word;
	case BPF_MEM:
		return r->memory[f->k % BPF_MEMWORDS];
	case BPF_LEN:
		return sizeof r->data;
	}
	return f->k; /* BPF_IMM */
}

/* One instruction: how many to go over after it. */
static uint32_t filter_step(struct filter_run *r, const struct sock_filter *f)
{
	uint32_t operand = BPF_SRC(f->code) == BPF_X ? r->x : f->k;

	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
		r->a = filter_load(r, f);
		break;
	case BPF_LDX:
		r->x = filter_load(r, f);
		break;
	case BPF_ST:
		r->memory[f->k % BPF_MEMWORDS] = r->a;
		break;
	case BPF_STX:
		r->memory[f->k % BPF_MEMWORDS] = r->x;
		break;
	case BPF_ALU:
		r->a = filter_alu(BPF_OP(f->code), r->a, operand);
		break;
	case BPF_JMP:
		if (BPF_OP(f->code) == BPF_JA)
			return f->k;
		return filter_jumps(BPF_OP(f->code), r->a, operand) ? f->jt : f->jf;
	case BPF_MISC:
		if (BPF_MISCOP(f->code) == BPF_TAX)
			r->x = r->a;
		else
			r->a = r->x;
		break;
	}
	return 0;
}

uint32_t af_seccomp_run(const struct sock_fprog *p, int call, const uint64_t args[6])
{
	struct filter_run r = {.data = {.nr = call, .arch = AF_ARCH_AUDIT}};
	struct sock_fprog program;
	struct sock_filter f;

	for (int i = 0; i < 6; i++)
		r.data.args[i] = args[i];
	if (af_guarded_read(&program, (uintptr_t)p, sizeof program))
		return SECCOMP_RET_KILL_PROCESS;
	/* Jumps go forward only, so it ends. */
	for (uint64_t at = 0; at < program.len; at++) {
		if (af_guarded_read(&f, (uintptr_t)(program.filter + at), sizeof f))
			break;
		if (BPF_CLASS(f.code) == BPF_RET)
			return BPF_RVAL(f.code) == BPF_A ? r.a : f.k;
		at += filter_step(&r, &f);
	}
	return SECCOMP_RET_KILL_PROCESS;
}

bool af_seccomp_forbids(const struct sock_fprog *p)
{
	for (unsigned i = 0; i < sizeof needed / sizeof *needed; i++) {
		uint32_t action =
		    af_seccomp_run(p, needed[i].call, needed[i].args) & SECCOMP_RET_ACTION_FULL;
		if (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
		    action == SECCOMP_RET_TRAP)
			return true;
	}
	return false;
}
