/*
 * The names of frames that are no functions: what stands in a stack where a function's name, or the
 * stack itself, is not known. Who makes such a frame and who looks for it both take it from here.
 */
#ifndef AF_ANALYSE_FRAMES_MARKS_H
#define AF_ANALYSE_FRAMES_MARKS_H

/* Why an address has no name: "[libc.so.6: no symbol]". M(NAME of enum af_symbol_source, words) */
#define AF_NO_NAMES(M)                                                                             \
	M(NO_FILE, "file gone")                                                                    \
	M(BUILD_ID, "file replaced")                                                               \
	M(NO_SYMBOL, "no symbol")                                                                  \
	M(NO_MODULE, "no file mapped here")

/* Code that was made at run time and is in no map; in the map's file but in none of its symbols. */
#define AF_MARK_JIT_NO_MAP "[jit: no map]"
#define AF_MARK_JIT_NO_SYMBOL "[jit: no symbol]"

/* Threads and processes without a sample, below where they began. */
#define AF_MARK_ENDED "[ended before a sample]"

/* Above a stack that the kernel followed by frame pointers. */
#define AF_MARK_FRAME_POINTERS "[frame pointers only]"

#define AF_MARK_NO_STACK "[stack not recorded]"
#define AF_MARK_NO_USER_STACK "[user stack not recorded]"

/* Begins the frame above a stack that is cut short; the words of its stop and "]" follow. */
#define AF_MARK_TRUNCATED "[truncated: "

#endif
