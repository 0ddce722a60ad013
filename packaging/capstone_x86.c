/*
 * Stands in for the processors in libcapstone.a that are not x86, which Capstone's table of all of
 * them would link in: 6 MB of the program. Nobody here opens them.
 */
#define ABSENT(processor)                                                                          \
	int processor##_global_init(void *handle);                                                 \
	int processor##_option(void *handle, int type, unsigned long value);                       \
	int processor##_global_init(void *handle)                                                  \
	{                                                                                          \
		(void)handle;                                                                      \
		return ERROR_ARCH;                                                                 \
	}                                                                                          \
	int processor##_option(void *handle, int type, unsigned long value)                        \
	{                                                                                          \
		(void)handle, (void)type, (void)value;                                             \
		return ERROR_ARCH;                                                                 \
	}

enum { ERROR_ARCH = 2 /* CS_ERR_ARCH of capstone.h */ };

ABSENT(ARM)
ABSENT(AArch64)
ABSENT(EVM)
ABSENT(M680X)
ABSENT(M68K)
ABSENT(Mips)
ABSENT(PPC)
ABSENT(Sparc)
ABSENT(SystemZ)
ABSENT(TMS320C64x)
ABSENT(XCore)
