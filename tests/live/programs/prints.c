/*
 * prints: what the program writes and returns must arrive unchanged.
 *
 * Truth: standard output is all 256 byte values in order, 16 times; standard error is "to stderr\n"
 * and no more; nothing else is written; standard input is not read.
 *
 * Exit status: 42.
 */
#include <unistd.h>

int main(void)
{
	static const char message[] = "to stderr\n";
	unsigned char bytes[256];

	for (int i = 0; i < 256; i++)
		bytes[i] = (unsigned char)i;
	for (int i = 0; i < 16; i++)
		if (write(STDOUT_FILENO, bytes, sizeof bytes) != sizeof bytes)
			return 1;
	if (write(STDERR_FILENO, message, sizeof message - 1) != sizeof message - 1)
		return 1;
	return 42;
}
