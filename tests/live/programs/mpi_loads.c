/* Runs main() of a library that it keeps to itself, as interpreters load their modules. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(int, char **) = NULL;

	if (library)
		*(void **)&run = dlsym(library, "main");
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return run(1, argv);
}
