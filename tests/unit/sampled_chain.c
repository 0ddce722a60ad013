/* Three functions, compiled in several ways: CHAIN is their name. The leaf has the time. */
#include "sampled_chain.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define STRING_(a) #a
#define STRING(a) STRING_(a)
#ifdef __clang__
#define APART noinline
#else
#define APART noinline, noipa
#endif
#define IN(part) __attribute__((APART, section(STRING(PASTE(CHAIN, part##_code)))))

unsigned PASTE(CHAIN, _leaf)(unsigned n);
unsigned PASTE(CHAIN, _mid)(unsigned n);
unsigned PASTE(CHAIN, _top)(unsigned n);

IN(_leaf) unsigned PASTE(CHAIN, _leaf)(unsigned n)
{
	unsigned v = n;

	for (unsigned i = 0; i < 200; i++)
		v = v * 1664525 + 1013904223 + (v >> 7);
	return v;
}

IN(_mid) unsigned PASTE(CHAIN, _mid)(unsigned n)
{
	unsigned v = 0;

	for (unsigned i = 0; i < 50; i++)
		v += PASTE(CHAIN, _leaf)(n + i);
	return v + 1;
}

IN(_top) unsigned PASTE(CHAIN, _top)(unsigned n)
{
	return PASTE(CHAIN, _mid)(n) + 1;
}

#define PART(part)                                                                                 \
	extern const char PASTE(__start_, PASTE(CHAIN, part##_code))[];                            \
	extern const char PASTE(__stop_, PASTE(CHAIN, part##_code))[]

PART(_leaf);
PART(_mid);
PART(_top);

#define RANGE(part)                                                                                \
	{                                                                                          \
		PASTE(__start_, PASTE(CHAIN, part##_code)),                                        \
		    PASTE(__stop_, PASTE(CHAIN, part##_code))                                      \
	}

const struct sampled_chain CHAIN = {
    STRING(CHAIN), PASTE(CHAIN, _top), {RANGE(_leaf), RANGE(_mid), RANGE(_top)}};
