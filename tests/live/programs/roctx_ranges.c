/* A program with ranges by ROCTX: linked with it, or (an argument) by a library that it opens. */
#include <dlfcn.h>
#include <stdio.h>

void roctx_say(void) __attribute__((weak));

int main(int argc, char **argv)
{
	void (*say)(void) = roctx_say;

	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		say = library ? (void (*)(void))dlsym(library, "roctx_say") : NULL;
	}
	if (!say)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	say();
	return 0;
}
