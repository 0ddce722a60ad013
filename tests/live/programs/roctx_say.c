/* Ranges and marks by ROCTX in every order, and what the functions return. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);
void mock_roctx_print(FILE *to);
void roctx_say(void);

enum { STEPS = 5, DEEP = 70, BURN_MS = 400 };

static void burn(void)
{
	struct timespec t;
	long begun, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	begun = t.tv_sec * 1000 + t.tv_nsec / 1000000;
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = t.tv_sec * 1000 + t.tv_nsec / 1000000;
	} while (now - begun < BURN_MS);
}

static void *stop(void *id)
{
	roctxRangeStop((uint64_t)(uintptr_t)id);
	printf("lone_pop %d\n", roctxRangePop());
	return NULL;
}

static void threads(uint64_t id)
{
	pthread_t thread;

	pthread_create(&thread, NULL, stop, (void *)(uintptr_t)id);
	pthread_join(thread, NULL);
}

void roctx_say(void)
{
	printf("early_pop %d\n", roctxRangePop());
	uint64_t first = roctxRangeStartA("first"), second = roctxRangeStartA("second");
	printf("first %d\nsecond %d\n", (int)first, (int)second);
	printf("outer %d\n", roctxRangePushA("outer"));
	printf("inner %d\n", roctxRangePushA("gr\xc3\xbc\xc3\x9f"));
	roctxMarkA("mark");
	burn();
	roctxRangeStop(first);
	printf("inner_pop %d\n", roctxRangePop());
	threads(second);
	printf("outer_pop %d\n", roctxRangePop());
	printf("late_pop %d\n", roctxRangePop());
	roctxRangeStop(12345);
	for (int i = 0; i < STEPS; i++) {
		roctxRangePushA("step");
		roctxRangePop();
	}
	for (int i = 0; i < DEEP; i++)
		roctxRangePushA("deep");
	for (int i = 0; i < DEEP - 1; i++)
		roctxRangePop();
	mock_roctx_print(stdout);
}
