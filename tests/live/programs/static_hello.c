/*
 * static_hello: a statically linked program, into which LD_PRELOAD cannot bring anything.
 *
 * Truth: prints "hello" and exits 0. A recorder must say that it could not get inside, and leave
 * the program's own behaviour as it is. Also built as static PIE.
 */
#include <stdio.h>

int main(void)
{
	puts("hello");
	return 0;
}
