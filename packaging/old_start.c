/*
 * How a program of the tarball starts, in every glibc (see old_glibc.c). Since 2.34 the C library
 * finds the program's constructors itself; before, the program was linked with a function that
 * ran them and passed it here. An old glibc must be given that, and a new one takes it too.
 */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

typedef void constructor(int argc, char **argv, char **env);

extern constructor *__init_array_start[] __attribute__((visibility("hidden")));
extern constructor *__init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

extern int old_libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                               constructor *init, void (*fini)(void), void (*rtld_fini)(void),
                               void *stack_end);
__asm__(".symver old_libc_start_main, __libc_start_main@GLIBC_2.2.5");

static void constructors_run(int argc, char **argv, char **env)
{
	_init();
	for (constructor **c = __init_array_start; c < __init_array_end; c++)
		(*c)(argc, argv, env);
}

__attribute__((visibility("hidden"))) int
__libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, constructor *init,
                  void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	return old_libc_start_main(main, argc, argv, init ? init : constructors_run, fini,
	                           rtld_fini, stack_end);
}
