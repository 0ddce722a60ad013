/*
 * A function that changes no register is called with known values in all of them, 1000 times;
 * "truth kept 1000" says how often they, the flags and the vector registers were the same after it.
 * Then exceptions pass through `throws`, which is called 1000 times and returns 500 times; `again`
 * calls itself, `tiny` is a `ret` alone, and `leads` a jump to it. `red` keeps its argument below the
 * stack, and returns it 1000 times; `odd` begins at no multiple of 8. `loops` and `calls` cannot be
 * probed without root.
 */
#include <cpuid.h>
#include <cstdint>
#include <cstdio>
#include <cstring>

struct state {
	uint64_t general[15]; /* rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r15 */
	uint64_t flags;
	unsigned char vectors[16][32];
};

extern "C" {
void call_kept(const state *in, state *out);
void call_kept_sse(const state *in, state *out);
void kept(void);
void lands(void);
long red(long);
int odd(void);
void tiny(void);
void leads(void);
}

#define LOAD(n) "	mov " #n "*8(%rdi), "
#define VECTORS(op, width)                                                                        \
	op(0, width) op(1, width) op(2, width) op(3, width) op(4, width) op(5, width)             \
	    op(6, width) op(7, width) op(8, width) op(9, width) op(10, width) op(11, width)       \
		op(12, width) op(13, width) op(14, width) op(15, width)
#define GET_y(n) "	vmovdqu 128+32*" #n "(%rdi), %ymm" #n "\n"
#define GET_x(n) "	movdqu 128+32*" #n "(%rdi), %xmm" #n "\n"
#define PUT_y(n) "	vmovdqu %ymm" #n ", 128+32*" #n "(%rax)\n"
#define PUT_x(n) "	movdqu %xmm" #n ", 128+32*" #n "(%rax)\n"
#define GET(n, width) GET_##width(n)
#define PUT(n, width) PUT_##width(n)

#define CALL(name, width)                                                                         \
	".globl " name "\n" name ":\n"                                                            \
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n	push %rsi\n"   \
	VECTORS(GET, width)                                                                       \
	"	pushq 120(%rdi)\n	popfq\n"                                                              \
	LOAD(0) "%rax\n" LOAD(1) "%rbx\n" LOAD(2) "%rcx\n" LOAD(3) "%rdx\n" LOAD(4) "%rsi\n"      \
	LOAD(6) "%rbp\n" LOAD(7) "%r8\n" LOAD(8) "%r9\n" LOAD(9) "%r10\n" LOAD(10) "%r11\n"       \
	LOAD(11) "%r12\n" LOAD(12) "%r13\n" LOAD(13) "%r14\n" LOAD(14) "%r15\n" LOAD(5) "%rdi\n"  \
	"	call kept\n	pushfq\n	push %rax\n	mov 16(%rsp), %rax\n"                                 \
	"	mov %rbx, 8(%rax)\n	mov %rcx, 16(%rax)\n	mov %rdx, 24(%rax)\n	mov %rsi, 32(%rax)\n"   \
	"	mov %rdi, 40(%rax)\n	mov %rbp, 48(%rax)\n	mov %r8, 56(%rax)\n	mov %r9, 64(%rax)\n"    \
	"	mov %r10, 72(%rax)\n	mov %r11, 80(%rax)\n	mov %r12, 88(%rax)\n	mov %r13, 96(%rax)\n"  \
	"	mov %r14, 104(%rax)\n	mov %r15, 112(%rax)\n"                                            \
	VECTORS(PUT, width)                                                                       \
	"	pop %rcx\n	mov %rcx, (%rax)\n	pop %rcx\n	mov %rcx, 120(%rax)\n"                         \
	"	pop %rsi\n	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n	ret\n"

asm(".text\n" CALL("call_kept", y) CALL("call_kept_sse", x)
    ".p2align 4\n.globl kept\n.type kept, @function\nkept:\n	.byte 0x0f, 0x1f, 0x44, 0, 0\n"
    "	{disp32} jc lands\n	ret\n.size kept, . - kept\n"
    ".p2align 4\n.globl red\n.type red, @function\nred:\n	mov %rdi, %rax\n	mov %rdi, -8(%rsp)\n	bt $0, %rdi\n"
    "	{disp32} jc lands\n	mov -8(%rsp), %rax\n	ret\n.size red, . - red\n"
    ".p2align 4\n.globl lands\n.type lands, @function\nlands:\n	ret\n.size lands, . - lands\n"
    ".p2align 4\n.globl loops\n.type loops, @function\nloops:\n	xor %eax, %eax\n1:	inc %eax\n	cmp $5, %eax\n"
    "	jl 1b\n	ret\n.size loops, . - loops\n"
    ".p2align 4\n.globl calls\n.type calls, @function\ncalls:\n	call tiny\n	ret\n.size calls, . - calls\n"
    ".p2align 4\n	.skip 5, 0x90\n.globl odd\n.type odd, @function\nodd:\n	mov $1, %eax\n	ret\n.size odd, . - odd\n"
    ".p2align 4\n.globl leads\n.type leads, @function\nleads:\n	.byte 0xe9\n	.long tiny - . - 4\n.size leads, . - leads\n"
    ".p2align 4\n.globl tiny\n.type tiny, @function\ntiny:\n	ret\n.size tiny, . - tiny\n.p2align 4\n");

static volatile int sum;

extern "C" __attribute__((noinline)) int throws(int i)
{
	sum = sum + 1;
	if (i % 2)
		throw i;
	return i;
}

extern "C" __attribute__((noinline)) int again(int n)
{
	return n ? again(n - 1) + sum % 2 : 0;
}

static bool has_avx(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_AVX && c & bit_OSXSAVE;
}

static int states(void)
{
	int same = 0;
	bool avx = has_avx();

	for (uint64_t i = 0; i < 1000; i++) {
		state in, out;
		memset(&in, (int)(i * 7 + 1), sizeof in);
		for (int k = 0; k < 15; k++)
			in.general[k] += i * 0x0101010101ull + (uint64_t)k;
		/* All flags of arithmetic, in turn (Intel SDM, volume 1, 3.4.3); bit 1 is always set. */
		in.flags = 0x202 | (i & 1) | (i & 2) << 1 | (i & 4) << 2 | (i & 8) << 3 | (i & 16) << 3 | (i & 32) << 6;
		out = in;
		memset(&out.general, 0, sizeof out.general);
		(avx ? call_kept : call_kept_sse)(&in, &out);
		same += !memcmp(&in, &out, sizeof in);
	}
	return same;
}

int main()
{
	int caught = 0, returned = 0, intact = 0, odds = 0;

	printf("truth kept %d\n", states());
	for (int i = 0; i < 1000; i++) {
		try {
			throws(i);
			returned++;
		} catch (int) {
			caught++;
		}
		i % 2 ? tiny() : leads();
		intact += red(i * 0x10001l) == i * 0x10001l;
		odds += odd();
	}
	again(99);
	printf("truth red %d\ntruth odd %d\n", intact, odds);
	printf("truth throws %d\ntruth caught %d\ntruth again 100\ntruth tiny 1000\ntruth leads 500\n", caught + returned, caught);
	return 0;
}
