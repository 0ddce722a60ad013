/*
 * A mock of ROCTX's library (libroctx64.so.4 of ROCm, from the declarations of roctx.h): it counts
 * what reaches it, and numbers ranges as it likes.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIRST = 100 };

void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);
void mock_roctx_print(FILE *to);

static int marks, pushes, pops, starts, stops;
static uint64_t bytes, stopped;
static __thread int level;

static void count(int *counter, const char *message)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&bytes, message ? strlen(message) : 0, __ATOMIC_RELAXED);
}

void roctxMarkA(const char *message)
{
	count(&marks, message);
}

int roctxRangePushA(const char *message)
{
	count(&pushes, message);
	return level++;
}

int roctxRangePop(void)
{
	count(&pops, NULL);
	return level ? --level : -1;
}

uint64_t roctxRangeStartA(const char *message)
{
	count(&starts, message);
	return FIRST + (uint64_t)starts;
}

void roctxRangeStop(uint64_t id)
{
	count(&stops, NULL);
	__atomic_add_fetch(&stopped, id, __ATOMIC_RELAXED);
}

void mock_roctx_print(FILE *to)
{
	fprintf(to, "marks %d\npushes %d\npops %d\nstarts %d\nstops %d\nbytes %llu\nstopped %llu\n",
	        marks, pushes, pops, starts, stops, (unsigned long long)bytes,
	        (unsigned long long)stopped);
}
