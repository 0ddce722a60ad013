#include "sym/device/stalls.h"

#include <string.h>

const struct af_stall af_stalls[] = {
    /* NVIDIA */
    {"selected", "issued", '=', AF_STALL_ISSUED, false,
     "No stall: the warp was chosen and its instruction went out.", NULL},
    {"not_selected", "not selected", 'n', AF_STALL_ISSUED, false,
     "The warp could have gone on, but the scheduler chose another one.",
     "The scheduler has work enough: fewer warps, each with more registers, may lose nothing."},
    {"long_scoreboard", "long scoreboard", 'L', AF_STALL_MEMORY, true,
     "A value from global, local, texture or surface memory has not arrived.",
     "Load earlier or more at a time, make neighbours read neighbours, keep what is read again in "
     "shared memory, or raise occupancy."},
    {"short_scoreboard", "short scoreboard", 'S', AF_STALL_MEMORY, true,
     "A value from shared memory, or of a slow unit behind the same queue (sine, conversion, "
     "dynamic "
     "branch), has not arrived.",
     "Look for bank conflicts of shared memory first, then for special functions in inner loops."},
    {"lg_throttle", "global queue full", 'G', AF_STALL_MEMORY, false,
     "The queue for instructions to global and local memory is full.",
     "Use fewer and wider accesses (16 bytes a thread), and look for registers that were spilled."},
    {"mio_throttle", "MIO queue full", 'O', AF_STALL_MEMORY, false,
     "The queue for shared memory, special functions and dynamic branches is full.",
     "Use wider accesses to shared memory, or keep more in registers."},
    {"tex_throttle", "texture queue full", 'T', AF_STALL_MEMORY, false,
     "The queue for texture and surface instructions is full.",
     "Issue fewer texture reads at once, or read by plain loads what needs no filter."},
    {"imc_miss", "constant miss", 'C', AF_STALL_MEMORY, false,
     "A constant that the instruction names itself was not in its cache.",
     "Let all threads of a warp use the same few constants, and read large tables by loads."},
    {"drain", "store drain", 'R', AF_STALL_MEMORY, false,
     "The warp has ended, but what it stored is still on its way to memory.",
     "Make the last stores contiguous, and spread them over the kernel's time."},
    {"barrier", "barrier", 'B', AF_STALL_SYNC, false,
     "The warp waits at a barrier of its block for the other warps.",
     "Give all warps the same work before the barrier, or use smaller blocks."},
    {"membar", "memory fence", 'F', AF_STALL_SYNC, false,
     "The warp waits at a fence until its writes are seen by others.",
     "Use fences of the narrowest scope that is right, and fewer of them."},
    {"sleeping", "sleeping", 'Z', AF_STALL_SYNC, false,
     "All threads of the warp sleep or have yielded, as the code asked.",
     "Sleep shorter, or wait on a barrier object instead of polling."},
    {"warpgroup_arrive", "warpgroup wait", 'A', AF_STALL_SYNC, false,
     "The warp waits for its warpgroup, at the begin or the end of asynchronous matrix work.",
     "Keep more matrix instructions in flight before waiting for them."},
    {"gmma", "matrix unit", 'X', AF_STALL_EXECUTE, true,
     "The warp waits for the asynchronous matrix unit to take or to finish its work.",
     "Where the unit is busy throughout this is as it should be; else feed it from shared memory "
     "earlier."},
    {"wait", "fixed latency", 'W', AF_STALL_EXECUTE, true,
     "The instruction before has a fixed latency, which had not passed.",
     "More independent work, by unrolling or by more warps, hides it."},
    {"math_pipe_throttle", "math pipe full", 'M', AF_STALL_EXECUTE, false,
     "The arithmetic unit that the instruction needs is taken by other warps.",
     "Move work to another unit or precision (fp64 is slow on most devices), or do less of it."},
    {"dispatch_stall", "dispatch", 'D', AF_STALL_EXECUTE, false,
     "The dispatcher held the warp back, as resources it needs at once conflict.",
     "Rarely yours to change: look at register reuse of the hottest instructions."},
    {"no_instructions", "no instruction", 'I', AF_STALL_FETCH, false,
     "The next instruction has not been fetched: a miss of the instruction cache, or a jump.",
     "Make the code smaller (unroll and inline less), and start enough blocks to share it."},
    {"branch_resolving", "branch", 'J', AF_STALL_FETCH, false,
     "The warp waits to know where its branch goes.",
     "Fewer jumps: predicate short bodies, unroll tight loops, and let warps not diverge."},
    {"misc", "misc", '?', AF_STALL_OTHER, false,
     "A reason for which the hardware has no other name.", NULL},
    /* Intel */
    {"active", "active", '=', AF_STALL_ISSUED, false, "No stall: a thread of the unit executed.",
     NULL},
    {"control", "control flow", 'J', AF_STALL_FETCH, false,
     "The thread waits for a jump, or for its mask of channels after one.",
     "Fewer branches that diverge, and unrolled tight loops."},
    {"pipestall", "pipe", 'P', AF_STALL_EXECUTE, false,
     "The arithmetic pipe that the instruction needs is taken, or the one before it is not "
     "through.",
     "Interleave independent work, and other types of arithmetic."},
    {"send", "send", 'G', AF_STALL_MEMORY, false,
     "A message to memory or to a shared unit waits for a place in the queue.",
     "Fewer and larger messages: block loads, wider vectors."},
    {"dist_acc", "register distance", 'D', AF_STALL_EXECUTE, true,
     "A result of a few instructions before, or the accumulator, is not ready.",
     "More independent work between an instruction and its use."},
    {"sbid", "scoreboard", 'L', AF_STALL_MEMORY, true,
     "A value from memory or another unit behind a message has not arrived.",
     "Load earlier, read contiguously, keep what is read again in shared local memory or "
     "registers."},
    {"sync", "sync", 'B', AF_STALL_SYNC, false, "The thread waits at a barrier or for a fence.",
     "Give all threads of a group the same work before the barrier, or use smaller groups."},
    {"inst_fetch", "instruction fetch", 'I', AF_STALL_FETCH, false,
     "The next instruction has not been fetched.",
     "Make the code smaller: unroll and inline less."},
    {"tdr", "pixel order", 'T', AF_STALL_SYNC, false,
     "A pixel shader waits for an earlier pixel that it depends on.", NULL},
    {"other", "other", '?', AF_STALL_OTHER, false,
     "A reason for which the hardware has no other name.", NULL},
    {NULL, NULL, 0, AF_STALL_OTHER, false, NULL, NULL},
};

/* Names that other drivers, driver versions and tools use for the same reasons. */
static const char *const stall_others[][2] = {
    {"no_instruction", "no_instructions"},
    {"dispatch", "dispatch_stall"},
    {"Active", "active"},
    {"ControlStall", "control"},
    {"PipeStall", "pipestall"},
    {"SendStall", "send"},
    {"DistStall", "dist_acc"},
    {"SbidStall", "sbid"},
    {"SyncStall", "sync"},
    {"InstrFetchStall", "inst_fetch"},
    {"PSDepStall", "tdr"},
    {"OtherStall", "other"},
};

/* The part of a driver's name that tells it from the other names. */
static size_t stall_key(const char **name)
{
	static const char *const before[] = {"smsp__pcsamp_warps_issue_stalled_",
	                                     "smsp__pcsamp_warp_stall_", "smsp__pcsamp_"};
	static const char after[] = "_not_issued";

	for (unsigned i = 0; i < sizeof before / sizeof *before; i++)
		if (!strncmp(*name, before[i], strlen(before[i]))) {
			*name += strlen(before[i]);
			break;
		}
	size_t len = strlen(*name), end = sizeof after - 1;
	return len > end && !memcmp(*name + len - end, after, end) ? len - end : len;
}

static bool stall_is(const char *key, const char *name, size_t len)
{
	return strlen(key) == len && !memcmp(key, name, len);
}

const struct af_stall *af_stall_find(const char *name)
{
	size_t len = stall_key(&name);

	for (unsigned i = 0; i < sizeof stall_others / sizeof *stall_others; i++)
		if (stall_is(stall_others[i][0], name, len)) {
			name = stall_others[i][1];
			len = strlen(name);
			break;
		}
	for (const struct af_stall *s = af_stalls; s->key; s++)
		if (stall_is(s->key, name, len))
			return s;
	return NULL;
}

const char *af_stall_name(const char *name, char out[AF_STALL_NAME])
{
	const struct af_stall *s = af_stall_find(name);
	size_t len = stall_key(&name);

	if (s)
		return s->name;
	if (len > AF_STALL_NAME - 1)
		len = AF_STALL_NAME - 1;
	while (len && (name[len] & 0xc0) == 0x80)
		len--; /* not in the middle of a character */
	for (size_t i = 0; i < len; i++)
		out[i] = name[i] == '_' ? ' ' : name[i];
	out[len] = 0;
	return len ? out : "unknown reason";
}
