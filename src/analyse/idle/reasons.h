/*
 * The phases and reasons of the view of idle time: when a device was idle, and why. Each is a frame
 * of that view, with the name given here.
 */
#ifndef AF_ANALYSE_IDLE_REASONS_H
#define AF_ANALYSE_IDLE_REASONS_H

/* P(NAME, frame) */
#define AF_IDLE_PHASES(P)                                                                          \
	P(BETWEEN, "[between work]")                                                               \
	P(BEFORE, "[before the first work]")                                                       \
	P(AFTER, "[after the last work]")

enum idle_phase {
#define AF_P(NAME, frame) IDLE_##NAME,
	AF_IDLE_PHASES(AF_P)
#undef AF_P
	    IDLE_PHASES
};

/* R(NAME, frame) */
#define AF_IDLE_REASONS(R)                                                                         \
	R(LAUNCH, "[launching]")                                                                   \
	R(COPY, "[copying]")                                                                       \
	R(SYNC, "[waiting for the device]")                                                        \
	R(ALLOC, "[allocating]")                                                                   \
	R(LOAD, "[loading code]")                                                                  \
	R(CALL, "[other calls]")                                                                   \
	R(MPI, "[inside MPI]")                                                                     \
	R(INPUT, "[loading data]")                                                                 \
	R(RUN, "[on a CPU]")                                                                       \
	R(STARVED, "[waiting for a CPU]")                                                          \
	R(OFF, "[off the CPU]")                                                                    \
	R(ON_WAY, "[launched, not started yet]")                                                   \
	R(QUEUED, "[launched before]")                                                             \
	R(UNSEEN, "[not sampled]")                                                                 \
	R(NO_CALL, "[launch not known]")

enum idle_reason {
#define AF_R(NAME, frame) IDLE_##NAME,
	AF_IDLE_REASONS(AF_R)
#undef AF_R
	    IDLE_REASONS
};

/* The frame of the part of a reason that came right after a wait for the device. */
#define AF_IDLE_AFTER_WAIT "[after waiting for the device]"

/* The name of the frame; a constant. */
const char *idle_phase_frame(enum idle_phase phase);
const char *idle_reason_frame(enum idle_reason reason);

#endif
