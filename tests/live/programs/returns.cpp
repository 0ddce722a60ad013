/*
 * returns THREADS N: calls functions a known number of times, and says of each how many calls there
 * were, how many of them returned, and what they took at least and at most, by clocks that it reads
 * itself inside and outside of them:
 *
 *	truth NAME CALLS RETURNED INSIDE_NS OUTSIDE_NS
 *
 * The functions leave in all ways that there are: by recursion, exceptions, longjmp, jumps to other
 * functions, on other stacks, and in pieces that lie elsewhere. Those in assembly begin and end as
 * compilers make it, one way each. With "refused" as the third argument nothing is called.
 */
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define APART extern "C" __attribute__((noinline, noclone, used))

struct truth {
	long calls, returned;
	uint64_t inside_ns, outside_ns;
};

static volatile int kept;

static uint64_t now_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Adds the time of its scope where that ends by a return. */
struct inside {
	truth &t;
	uint64_t begin = now_ns();
	explicit inside(truth &of) : t(of) { t.calls++; }
	void over()
	{
		t.inside_ns += now_ns() - begin;
		t.returned++;
	}
};

static void spin(uint64_t ns)
{
	for (uint64_t end = now_ns() + ns; now_ns() < end;)
		;
}

static void print(const char *name, const truth &t)
{
	printf("truth %s %ld %ld %llu %llu\n", name, t.calls, t.returned,
	       (unsigned long long)t.inside_ns, (unsigned long long)t.outside_ns);
}

/* ---- recursion, in threads ---- */

APART int climbs(int n, truth *t)
{
	inside in(*t);
	int sum = n;

	if (n > 1) {
		uint64_t begin = now_ns();
		sum += climbs(n - 1, t);
		sum += climbs(n - 2, t);
		t->outside_ns += now_ns() - begin;
	}
	in.over();
	return sum;
}

static long nr;

static void *thread_run(void *arg)
{
	truth *t = (truth *)arg;

	for (long i = 0; i < nr; i++) {
		uint64_t begin = now_ns();
		kept = climbs(5, t);
		t->outside_ns += now_ns() - begin;
	}
	return NULL;
}

/* ---- exceptions, which pass a call that has something to destroy ---- */

static truth throwing, leaping, twice, switching;

APART int throws(long i, int depth)
{
	inside in(throwing);
	struct cleanup {
		~cleanup() { kept = kept + 1; }
	} c;

	if (depth)
		kept = throws(i, depth - 1) + 1;
	else if (i % 2)
		throw 1;
	in.over();
	return kept;
}

static void throws_all()
{
	for (long i = 0; i < nr; i++) {
		uint64_t begin = now_ns();
		try {
			kept = throws(i, 2);
		} catch (int) {
			kept = 0;
		}
		throwing.outside_ns += now_ns() - begin;
	}
	/* Times of calls that others are in. */
	throwing.outside_ns *= 3;
}

/* ---- longjmp ---- */

static jmp_buf back;

APART int leaps(long i)
{
	inside in(leaping);

	if (i % 3 == 0)
		longjmp(back, 1);
	in.over();
	return (int)i;
}

static void leaps_all()
{
	for (volatile long i = 0; i < nr; i = i + 1) {
		uint64_t begin = now_ns();
		if (!setjmp(back))
			kept = leaps(i);
		leaping.outside_ns += now_ns() - begin;
	}
}

/* ---- on a signal's own stack, while another call is under way ---- */

APART int handles(int inner)
{
	inside in(twice);

	if (!inner)
		raise(SIGUSR1);
	in.over();
	return inner;
}

static void on_signal(int)
{
	kept = handles(1);
}

static void handles_all()
{
	static char stack[65536];
	stack_t other = {};
	struct sigaction act = {};

	other.ss_sp = stack;
	other.ss_size = sizeof stack;
	act.sa_handler = on_signal;
	act.sa_flags = SA_ONSTACK;
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &act, NULL);
	for (long i = 0; i < nr; i++) {
		uint64_t begin = now_ns();
		kept = handles(0);
		twice.outside_ns += 2 * (now_ns() - begin);
	}
}

/* ---- two stacks by turns ---- */

static ucontext_t here, there;

APART int yields(ucontext_t *from, ucontext_t *to)
{
	inside in(switching);

	swapcontext(from, to);
	in.over();
	return 1;
}

static void fiber_run()
{
	for (;;)
		kept = yields(&there, &here);
}

static void yields_all()
{
	static char stack[262144];

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	makecontext(&there, fiber_run, 0);
	uint64_t begin = now_ns();
	for (long i = 0; i < nr; i++)
		kept = yields(&here, &there);
	switching.outside_ns = 2 * (now_ns() - begin);
}

/* ---- a call that a child returns from, too: it has not made it ---- */

static truth forking;

APART bool forks()
{
	inside in(forking);
	pid_t child = fork();

	if (!child)
		return true;
	waitpid(child, NULL, 0);
	in.over();
	return false;
}

static void forks_all()
{
	for (int i = 0; i < 5; i++) {
		uint64_t begin = now_ns();
		if (forks())
			_exit(0);
		forking.outside_ns += now_ns() - begin;
	}
}

/* ---- in assembly ---- */

static uint64_t spun_ns;

APART void spins()
{
	uint64_t begin = now_ns();

	spin(5000);
	spun_ns += now_ns() - begin;
}

extern "C" {
typedef void leaves(long);
#define COND(cc) leaves cond_##cc;
#define ALL_CONDITIONS(C)                                                                          \
	C(o) C(no) C(b) C(ae) C(e) C(ne) C(be) C(a) C(s) C(ns) C(p) C(np) C(l) C(ge) C(le) C(g)
ALL_CONDITIONS(COND)
leaves at_once, hops, by_register, by_memory, by_pointer, by_table, in_pieces, enters;
}

/*
 * With ROOMY functions begin with room for a jump, and at multiples of 16, as those of compilers
 * mostly do.
 */
#ifdef ROOMY
#define ROOM "	.byte 0x0f, 0x1f, 0x44, 0, 0\n"
#define ALIGN "	.p2align 4\n"
#define LONG "{disp32} "
#else
#define ROOM ""
#define ALIGN ""
#define LONG ""
#endif

/* The flags are the argument. If the condition holds, it is over by a jump to another function. */
#define COND_CODE(cc)                                                                              \
	ALIGN "	.globl cond_" #cc "\n	.type cond_" #cc ", @function\n"                            \
	"cond_" #cc ":	" ROOM "	pushq %rdi\n	popfq\n	" LONG "j" #cc " at_once\n"                                  \
	"	subq $8, %rsp\n	call spins\n	addq $8, %rsp\n	ret\n"                                \
	"	.size cond_" #cc ", . - cond_" #cc "\n"
#define BEGIN(name) ALIGN "	.globl " name "\n	.type " name ", @function\n" name ":\n" ROOM
#define END(name) "	.size " name ", . - " name "\n"

__asm__(
	"	.text\n" ALL_CONDITIONS(COND_CODE)
	BEGIN("at_once") "	ret\n" END("at_once")
	BEGIN("hops") "	jmp at_once\n" END("hops")
	BEGIN("by_register") "	leaq at_once(%rip), %r11\n	jmp *%r11\n" ROOM END("by_register")
	BEGIN("by_memory") "	leaq leads-8(%rip), %rax\n	jmp *8(%rax,%rdi,8)\n" ROOM END("by_memory")
	BEGIN("by_pointer") "	nop\n	jmp *leads(%rip)\n" END("by_pointer")
	/* A table of places in the function itself: none of these jumps is an exit. */
	BEGIN("by_table") "	andl $1, %edi\n	leaq places(%rip), %rax\n	jmp *(%rax,%rdi,8)\n"
	ALIGN "1:	nop\n2:	subq $8, %rsp\n	call spins\n	addq $8, %rsp\n	ret\n" ROOM END("by_table")
	BEGIN("in_pieces") "	testl %edi, %edi\n	je in_pieces.cold\n	nop\n3:	ret\n" END("in_pieces")
	ALIGN "	.type in_pieces.cold, @function\n"
	"in_pieces.cold:	subq $8, %rsp\n	call spins\n	addq $8, %rsp\n	jmp 3b\n"
	"	.size in_pieces.cold, . - in_pieces.cold\n"
	/* People's code, without a name for what it jumps to. */
	BEGIN("enters") "	.cfi_startproc\n	jmp 6f\n	.cfi_endproc\n" END("enters")
	"	.cfi_startproc\n	nop\n6:	subq $8, %rsp\n	call spins\n	addq $8, %rsp\n	ret\n	.cfi_endproc\n"
	ALIGN
	/* These are refused. */
	BEGIN("has_data") "	jmp 4f\n	.byte 0x48, 0xb8\n4:	ret\n	nop\n	nop\n	nop\n	nop\n	nop\n	nop\n	nop\n	ret\n"
	END("has_data")
	BEGIN("unknown") "	.byte 0x06\n	ret\n" END("unknown")
	BEGIN("far_away") "	lretq\n" END("far_away")
	BEGIN("counts_down") "	jrcxz at_once_near\n	ret\n" END("counts_down")
	BEGIN("at_once_near") "	ret\n" END("at_once_near")
	BEGIN("sizeless") "	ret\n"
	"	.section .data.rel.local, \"aw\"\n	.balign 8\n"
	"leads:	.quad at_once, at_once\n"
	"places:	.quad 1b, 2b\n"
	"	.text\n");

static void leaves_all(const char *name, leaves *f, long argument, long n, truth &t)
{
	for (long i = 0; i < n; i++) {
		spun_ns = 0;
		uint64_t begin = now_ns();
		f(argument);
		t.outside_ns += now_ns() - begin;
		t.inside_ns += spun_ns;
		t.calls++;
		t.returned++;
	}
	if (name)
		print(name, t);
}

/* All that conditions depend on: carry, parity, zero, sign, overflow; bit 1 of the flags is always set. */
static void conditions_all()
{
	static const struct {
		const char *name;
		leaves *f;
	} all[] = {
#define COND_ROW(cc) {"cond_" #cc, cond_##cc},
	    ALL_CONDITIONS(COND_ROW)};

	for (const auto &c : all) {
		truth t = {};
		for (long bits = 0; bits < 32; bits++)
			leaves_all(NULL, c.f,
			           0x202 | (bits & 1) | (bits & 2) << 1 | (bits & 4) << 4 |
			               (bits & 8) << 4 | (bits & 16) << 7,
			           1, t);
		print(c.name, t);
	}
}

int main(int argc, char **argv)
{
	long nr_threads = argc > 2 ? atol(argv[1]) : 0;
	pthread_t threads[64];
	truth of[64] = {}, all = {};

	if (nr_threads < 1 || nr_threads > 64)
		return 2;
	nr = atol(argv[2]);
	if (argc > 3)
		return 0;
	for (long i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, thread_run, &of[i]))
			return 1;
	for (long i = 0; i < nr_threads; i++) {
		pthread_join(threads[i], NULL);
		all.calls += of[i].calls;
		all.returned += of[i].returned;
		all.inside_ns += of[i].inside_ns;
		all.outside_ns += of[i].outside_ns;
	}
	print("climbs", all);
	throws_all();
	print("throws", throwing);
	leaps_all();
	print("leaps", leaping);
	handles_all();
	print("handles", twice);
	yields_all();
	print("yields", switching);
	forks_all();
	print("forks", forking);
	truth t[7] = {};
	leaves_all("hops", hops, 0, nr, t[0]);
	leaves_all("by_register", by_register, 0, nr, t[1]);
	leaves_all("by_memory", by_memory, 1, nr, t[2]);
	leaves_all("by_pointer", by_pointer, 0, nr, t[3]);
	leaves_all("by_table", by_table, 1, nr, t[4]);
	leaves_all("in_pieces", in_pieces, 0, nr, t[5]);
	leaves_all("enters", enters, 0, nr, t[6]);
	conditions_all();
	return 0;
}
