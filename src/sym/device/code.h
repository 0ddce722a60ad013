/*
 * Device code: the functions of an ELF object in memory, and the source lines of each instruction
 * with the whole chain of inlined calls. Objects are NVIDIA's cubins (ELF machine 190, ABI 7 and
 * 8), Intel's zebins (machine 205), shared objects for the host (PoCL compiles kernels to those),
 * and listings: text with another profiler's names of the instructions.
 *
 *	af_code_open → { af_code_find, af_code_function, af_code_frames }* → af_code_close
 *
 * The bytes are hostile: damaged parts are treated as missing, and the rest is still used.
 */
#ifndef AF_SYM_DEVICE_CODE_H
#define AF_SYM_DEVICE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_err;
struct af_code;

enum {
	AF_CODE_FRAMES = 64, /* more calls than this inlined into each other are cut */
};

struct af_code_function {
	const char *name;     /* as the object has it: mangled, or "$kernel$function" */
	const char *shown;    /* for people: demangled, without "$kernel$" */
	uint64_t start;       /* in its section; for a host object, its address */
	uint64_t size;        /* bytes; a kernel's include the functions within it */
	const uint8_t *bytes; /* @size of them, or NULL when the object does not have them */
	uint32_t symbol;      /* number in the object's symbol table */
	uint32_t holder;      /* the function whose bytes hold it, itself for a kernel */
	bool entry;           /* can be launched */
};

struct af_code_frame {
	const char *function; /* demangled, NULL when not known */
	const char *file;     /* NULL when not known, AF_CODE_PTX for a line of the PTX text */
	uint32_t line;        /* 0 when not known */
};

/* The file name of lines in the object's PTX, where no source lines are known. */
extern const char AF_CODE_PTX[];

/* The first bytes of a listing. */
extern const char AF_CODE_LISTING[];

/*
 * Open the object in the @size bytes at @bytes, which outlive it. -ENOEXEC when it is not a known
 * kind of object, or of Intel's format of before zebins. Any thread; the other functions one thread
 * at a time for each object.
 */
int af_code_open(struct af_code **out, const void *bytes, size_t size, struct af_err *err);
void af_code_close(struct af_code *c);

/*
 * The machine that it runs on, as compilers name it: "sm_90" (also for sm_90a), "xe-hpc" ("intel"
 * when the object does not tell), "x86_64"; "" when not known.
 */
const char *af_code_arch(const struct af_code *c);

/* 90 for sm_90; 0 when it is not a cubin. */
uint32_t af_code_sm(const struct af_code *c);

/* Functions in the order of sections and addresses; a kernel before those within it. */
uint32_t af_code_nr_functions(const struct af_code *c);
const struct af_code_function *af_code_function(struct af_code *c, uint32_t i);

/*
 * The function called @name, -1 for none. Of several the one whose number is @symbol (0: not
 * known). A function within a kernel is also found by its own name, when only one function has that
 * name.
 */
int af_code_find(const struct af_code *c, const char *name, uint32_t symbol);

/*
 * The innermost function that has the byte at @offset of function @i, *@holder bytes from its
 * start: @i itself, or one of those within it. -1 when it is outside of @i.
 */
int af_code_innermost(const struct af_code *c, uint32_t i, uint64_t offset, uint64_t *holder);

/*
 * The offset in function @i of the next instruction after @offset. Where the length of instructions
 * is not known, which is on the host, the next byte's.
 */
uint64_t af_code_next(const struct af_code *c, uint32_t i, uint64_t offset);

/* The function at @address of an object for the host, -1 for none. */
int af_code_find_address(const struct af_code *c, uint64_t address, uint64_t *offset);

/*
 * Frames of the instruction at @offset of function @i, innermost inlined function first, at most
 * @most. The last is the function that is not inlined (the one of af_code_innermost()). 0: no line
 * is known. Strings live as long as @c.
 */
uint32_t af_code_frames(struct af_code *c, uint32_t i, uint64_t offset,
                        struct af_code_frame *frames, uint32_t most);

/* Line @line, from 1, of the PTX that the object contains; NULL when it contains none. */
const char *af_code_ptx(struct af_code *c, uint32_t line);

/* A listing's text of the instruction at @offset of function @i; NULL when it has none. */
const char *af_code_text(const struct af_code *c, uint32_t i, uint64_t offset);

#endif
