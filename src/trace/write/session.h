/*
 * The memory that the recorder and the targets share: a private directory in /dev/shm (mkdtemp,
 * 0700), named in $AFLAME_SESSION together with a number that no other recording has, and in the
 * trace's .session file. It holds
 *
 *	control         pages that targets can only read, whatever user they become
 *	counts          a page that all of them write
 *	s<process>-<n>  one ring file for each stream
 *	socket          the control socket (datagrams): every process registers there when it
 *	                starts, and hands over descriptors that it must not keep (perf events)
 */
#ifndef AF_TRACE_WRITE_SESSION_H
#define AF_TRACE_WRITE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

#define AF_SESSION_ENV "AFLAME_SESSION"
#define AF_ITT_NEXT_ENV "AFLAME_ITT_NEXT" /* what INTEL_LIBITTNOTIFY64 named without us */
#define AF_SESSION_MAGIC 0x3173736573666100ull
/*
 * In the trace until it is finished, and locked by its recorder. Two lines: the shared directory;
 * the boot id and the name of the host that it is on.
 */
#define AF_SESSION_FILE ".session"
/*
 * The names of .session in a trace that is complete but for its symbols: nobody writes them yet;
 * somebody does.
 */
#define AF_UNNAMED_FILE ".unnamed"
#define AF_NAMING_FILE ".naming"
#define AF_NAMING_NEW ".naming.new"     /* for a moment, to see the time of the file system */
#define AF_RECOVERED_STREAM "recovered" /* of a trace whose recorder was killed */
#define AF_WATCHED_FILE ".watched" /* touched each second by a program that watches the recording */
#define AF_LIVE_PREFIX ".live."    /* copies of the trace so far for such programs, by number */

enum af_cpu_mode {
	AF_CPU_OFF = 0,
	AF_CPU_PERF = 1,  /* perf_event_open task-clock with sigtrap */
	AF_CPU_TIMER = 2, /* per-thread CPU-time timers */
};

/*
 * The recorder may change it at any moment; samplers and hooks load it once, relaxed. While PAUSED,
 * only definitions (processes, modules, devices, kernels) and the end of device work that was
 * launched before are recorded.
 */
enum af_session_state {
	AF_SESSION_ON = 0,
	AF_SESSION_OVER = 1, /* for good: go silent */
	AF_SESSION_PAUSED = 2,
};

enum af_session_flag {
	AF_SESSION_OPENCL = 1,
	AF_SESSION_VERIFY = 2, /* walk beside every replay and compare (debugging) */
	AF_SESSION_PYTHON = 4,
	/* The recorder adds what threads do in the kernel, and starts samplers */
	AF_SESSION_KERNEL = 8,
	AF_SESSION_CUDA = 16,
	AF_SESSION_GRAPHS_WHOLE = 32, /* CUDA graphs: one record a launch, not one a node */
	AF_SESSION_AUTOGRAD = 128,    /* PyTorch is asked to tell of autograd's operations */
	AF_SESSION_GPU_SAMPLES = 256, /* instructions that GPUs execute are sampled */
	AF_SESSION_GPU_EXACT = 512,   /* … one kernel after the other, with its launch */
	AF_SESSION_SUMS = 1024,       /* calls and device work are added up, not recorded */
	AF_SESSION_STEPS = 2048,      /* the program's steps tell when recording is on */
	AF_SESSION_ALLOC = 4096,      /* allocations are added up by call path */
	AF_SESSION_HELD =
	    16384,              /* CPU samples count from the program's call of aflame_begin() on */
	AF_SESSION_WALL = 8192, /* AF_CPU_TIMER counts time by the wall clock, waits included */
	AF_SESSION_ZE = 65536,  /* Level Zero */
	AF_SESSION_OMP = 131072,         /* OpenMP's target constructs, by OMPT */
	AF_SESSION_KOKKOS = 1048576,     /* Kokkos calls libaflame.so as its tool */
	AF_SESSION_ITT = 2097152,        /* the program's static parts of ITT call libaflame.so */
	AF_SESSION_ITT_OPENMP = 4194304, /* … those of OpenMP's runtimes, too */
	AF_SESSION_PROBES = 8388608,     /* calls of functions are recorded: trace/write/probes.h */
	AF_SESSION_OWN = 32768, /* the process records itself (src/prof): its children are silent */
};

enum {
	AF_SAMPLED_SLOTS = 64,
	AF_FILTERED_SLOTS = 64,
	AF_EXEC_SLOTS = 64,
	AF_GPUS_SAMPLED = 16,
	AF_SESSION_FLUSH_MS = 500,
	AF_STEPS_NAME = 128,
	AF_LAUNCH_METRICS = 128,
	AF_SESSION_PAGE = 4096,
	AF_SESSION_CONTROL = 4 * AF_SESSION_PAGE,
	AF_API_KINDS = 0x2c00, /* kinds from AF_KIND_API on that may be recorded */
};

/* How calls of a function of a traced API are recorded: what control.how[] holds. */
enum af_api_how {
	AF_HOW_ON = 1,      /* an event a call, with its arguments */
	AF_HOW_STACK = 2,   /* … with the caller's stack */
	AF_HOW_WAITS = 4,   /* its arguments can be seen while it is under way */
	AF_HOW_SUM = 8,     /* added up in the target, without events */
	AF_HOW_LAUNCH = 16, /* with AF_HOW_STACK: it launches work (launches_every) */
};

/*
 * The pages `control`, fixed before the first target starts but for the atomics, and `counts`. Only
 * the recorder writes the first, and it compares the members up to @sampled with its own copy.
 */
struct af_session {
	uint64_t magic;
	uint64_t nonce;   /* of $AFLAME_SESSION */
	uint32_t version; /* AF_TRACE_VERSION */
	uint32_t flags;   /* enum af_session_flag */
	uint32_t cpu_mode;
	uint32_t recorder_pid;
	uint32_t recorder_uid; /* effective: only its processes can reach the recorder */
	/* The recorder's time namespace and the offset of its clock: base/system/proc.h */
	uint64_t time_namespace;
	int64_t time_namespace_ns;
	uint64_t sample_period_ns;
	uint64_t samples_most;       /* CPU samples that are kept, 0: all */
	uint32_t stack_depth;        /* frames that are kept of a sample's stack, 0: AF_STACK_MAX */
	uint64_t gpu_samples_second; /* of each GPU, all its processors busy */
	uint64_t ring_bytes;         /* most bytes that the trace may take on disk, 0: no limit */
	/*
	 * The trace: its directory by device and inode, which a rename keeps, or else its absolute
	 * path.
	 */
	uint64_t trace_device, trace_inode;
	char trace_dir[1024];
	/* With AF_SESSION_STEPS: from 1 on; the name of their ranges, "" for whichever they are. */
	uint64_t steps_first, steps_last;
	char steps_name[AF_STEPS_NAME];
	/* The group of counters that is read over each @…_every-th launch of a kernel, or "". */
	char launch_metrics[AF_LAUNCH_METRICS];
	uint32_t launch_metrics_every;
	uint32_t launches_every; /* one launch in so many has its stack, by chance; 0, 1: all do */
	uint32_t cuda_buffer_bytes; /* of each buffer for CUPTI's records; 0: as is best */
	_Atomic uint32_t state;     /* enum af_session_state */
	/*
	 * With AF_SESSION_KERNEL: ordinals of the processes whose event the recorder has taken
	 * over, each in the slot of its remainder. The recorder wakes the threads that wait there
	 * (futex). Threads made earlier would be sampled without the kernel's part.
	 */
	_Atomic uint32_t sampled[AF_SAMPLED_SLOTS];
	/* The same for processes in which the recorder has seen a filter of system calls. */
	_Atomic uint32_t filtered[AF_FILTERED_SLOTS];
	/*
	 * With --ring: raised now and then. A stream that sees a new value forgets which stacks,
	 * call paths and work descriptors it has defined and gives ids from 1 again, so that old
	 * definitions can be dropped.
	 */
	_Atomic uint32_t epoch;
	_Atomic uint64_t lost_oldest; /* events that gave way to newer ones */
	/*
	 * A tick of the processor's time stamp counter takes tsc_mult / 2^32 ns of CLOCK_MONOTONIC;
	 * 0: it is not to be used. The recorder measures it anew each second.
	 */
	_Atomic uint32_t tsc_mult;
	_Atomic uint32_t how_changes; /* grows with each change of the next */
	/* By kind less AF_KIND_API: bits of enum af_api_how, which the recorder may change. */
	_Atomic uint8_t how[AF_API_KINDS];

	/*
	 * `counts`: numbers that the targets hand out, and counts that they report, summed over
	 * processes.
	 */
	_Alignas(4096) _Atomic uint32_t nr_processes; /* last process ordinal handed out */
	_Atomic uint64_t nr_instances;                /* last stream instance handed out */
	_Atomic uint64_t handler_ns;                  /* spent in sampling handlers */
	_Atomic uint64_t handler_calls;
	_Atomic uint64_t replay_hits, replay_misses, replay_wrong;
	_Atomic uint64_t lost_no_stream; /* events: no stream could be made */
	_Atomic uint64_t lost_busy;      /* samples merged or dropped inside a sample */
	/* With samples_most: those that came, and those that were too many. */
	_Atomic uint64_t samples_came, lost_capped;
	_Atomic uint64_t sampler_failed; /* processes whose sampler could not be started */
	/*
	 * By remainder of the pid: pid << 32 | microseconds of CPU time that a program reported of
	 * itself before it ran another program. The next program takes it when it begins.
	 */
	_Atomic uint64_t written_before_exec[AF_EXEC_SLOTS];
	_Atomic uint64_t lost_forbidden; /* samples in processes that may not write (seccomp) */
	/*
	 * Ordinals, by their remainder, of processes that make no more system calls for recording.
	 * The recorder clears the slot when it samples the process from outside.
	 */
	_Atomic uint32_t forbidden[AF_FILTERED_SLOTS];
	/* GPUs whose instructions one process samples: hash of the UUID << 32 | pid. */
	_Atomic uint64_t gpus_sampled[AF_GPUS_SAMPLED];
	/* Processes that hand over device records every AF_SESSION_FLUSH_MS; some may be gone. */
	_Atomic uint32_t nr_flushers;
	/*
	 * How often /proc/self/maps was read for addresses that the loader does not know, and how
	 * often such a reading was put off.
	 */
	_Atomic uint64_t maps_read, maps_put_off;
	/* With AF_SESSION_STEPS: the most that a process has counted of one name. */
	_Atomic uint64_t nr_steps;
	_Atomic uint32_t has_begun; /* with AF_SESSION_HELD: aflame_begin() was called */
};

_Static_assert(sizeof(struct af_session) == AF_SESSION_CONTROL + AF_SESSION_PAGE,
               "two files: control, counts");

enum { AF_SESSION_DIR_MAX = 256 }; /* bytes of its path with the NUL */

/* Identifies a directory; zeros: not known yet. */
struct af_session_place {
	uint64_t device, inode;
};

/*
 * Opens the shared directory @path if it belongs to our effective user and nobody else can use it
 * and, where @place is known, it is still that directory: a descriptor (O_PATH), and *@place. Else
 * -errno. This and the next function are async-signal-safe.
 */
int af_session_dir_open(const char *path, struct af_session_place *place);

enum af_session_role {
	AF_SESSION_TARGET, /* may not write `control`, nor have it made writable */
	AF_SESSION_RECORDER,
};

/* Maps the session in @dir_fd if its files are ours and whole; NULL otherwise. */
struct af_session *af_session_map(int dir_fd, enum af_session_role role);

/* The same for a target that may open only one file at a time. */
struct af_session *af_session_map_by_path(const char *path);
void af_session_unmap(struct af_session *s);

/* Makes the session's files, the first page as in @made, and maps them. 0 or -errno. */
int af_session_make(int dir_fd, const struct af_session *made, struct af_session **mapped);

/* The value of $AFLAME_SESSION. */
enum { AF_SESSION_ENV_MAX = AF_SESSION_DIR_MAX + 24 };
void af_session_env_write(char *text, size_t size, const char *dir, uint64_t nonce);
bool af_session_env_read(const char *text, char *dir, size_t size, uint64_t *nonce);

enum af_ask {
	AF_ASK_ADMIT = 0, /* the process begins */
	/*
	 * A thread goes into execve(): the recorder switches the process's event off, and on again
	 * if execve() fails.
	 */
	AF_ASK_EXEC_BEGINS = 1,
	AF_ASK_EXEC_FAILED = 2,
	/*
	 * CUDA cannot be recorded from within, because another profiler holds CUPTI or there is
	 * none.
	 */
	AF_ASK_CUDA_OUTSIDE = 3,
	/*
	 * The process is about to forbid itself what sampling needs: after the answer it gets no
	 * signal of ours.
	 */
	AF_ASK_FORBIDDEN = 4,
	/* The first wanted step begins, the last has ended: recording is on between them. */
	AF_ASK_STEPS_BEGIN = 5,
	AF_ASK_STEPS_END = 6,
};

/*
 * The datagram that a process sends to the control socket, with at most one descriptor. A later
 * request comes with one end of a socket; the recorder answers by closing it.
 */
struct af_registration {
	uint32_t process; /* its ordinal */
	/* In its own PID namespace; the socket's credentials have the recorder's view */
	uint32_t pid;
	uint32_t has_fd;       /* a perf event: to be kept open for the process */
	int32_t sampler_error; /* 0, or the -errno the sampler failed with */
	uint32_t sees_kernel;  /* the event counts in the kernel too, and waits to be enabled */
	uint32_t ask;          /* enum af_ask */
	uint64_t time_ns;      /* when it was sent: the program that runs now sent it */
	/* AT_RANDOM of getauxval(3): a different value is a different program */
	uint64_t random_at;
};

#endif
