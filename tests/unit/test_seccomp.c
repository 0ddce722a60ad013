/* Filters of system calls, asked before a program puts them on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "inject/arch/arch.h"
#include "inject/sampler/seccomp.h"

#define FILTER(code) (&(struct sock_fprog){sizeof code / sizeof *code, code})

static const uint64_t no_args[6];

static void allowing_all_forbids_nothing(void **state)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

	(void)state;
	assert_false(af_seccomp_forbids(FILTER(code)));
}

static void errors_are_no_death(void **state)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};

	(void)state;
	assert_false(af_seccomp_forbids(FILTER(code)));
}

static void a_list_without_ours_forbids(void **state)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_ARCH_AUDIT, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};

	(void)state;
	assert_int_equal(af_seccomp_run(FILTER(code), SYS_write, no_args), SECCOMP_RET_ALLOW);
	assert_int_equal(af_seccomp_run(FILTER(code), SYS_openat, no_args), SECCOMP_RET_TRAP);
	assert_true(af_seccomp_forbids(FILTER(code)));
}

static void arguments_are_looked_at(void **state)
{
	/* Kills for sockets but those of Unix; the argument in X, compared by subtraction. */
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	    BPF_STMT(BPF_MISC | BPF_TAX, 0),
	    BPF_STMT(BPF_LD | BPF_IMM, AF_UNIX),
	    BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
	    BPF_STMT(BPF_ST, 3),
	    BPF_STMT(BPF_LD | BPF_MEM, 3),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
	};
	const uint64_t unix_socket[6] = {AF_UNIX}, inet_socket[6] = {AF_INET};

	(void)state;
	assert_int_equal(af_seccomp_run(FILTER(code), SYS_socket, unix_socket), SECCOMP_RET_ALLOW);
	assert_int_equal(af_seccomp_run(FILTER(code), SYS_socket, inet_socket),
	                 SECCOMP_RET_KILL_THREAD);
	assert_false(af_seccomp_forbids(FILTER(code)));
}

static void what_is_no_filter_forbids(void **state)
{
	struct sock_filter runs_out[] = {BPF_STMT(BPF_LD | BPF_IMM, 1),
	                                 BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff)};

	(void)state;
	assert_true(af_seccomp_forbids(FILTER(runs_out)));
	assert_true(af_seccomp_forbids(NULL));
	assert_true(af_seccomp_forbids(&(struct sock_fprog){1, (struct sock_filter *)16}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(allowing_all_forbids_nothing),
	    cmocka_unit_test(errors_are_no_death),
	    cmocka_unit_test(a_list_without_ours_forbids),
	    cmocka_unit_test(arguments_are_looked_at),
	    cmocka_unit_test(what_is_no_filter_forbids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
