/*
 * What the recorder and the targets share: a private directory in /dev/shm (mkdtemp, 0700) named
 * in $AFLAME_SESSION, with a number that no other recording has, and in the trace's .session file.
 * It holds `control`, a page that targets can only read, whoever they become, `counts`, a page that
 * all write, one ring file for each stream (`s<process>-<n>`), and the datagram socket `door`, to
 * which every process says hello when it starts and hands descriptors it must not keep (perf
 * events).
 */
#ifndef AF_TRACE_WRITE_SESSION_H
#define AF_TRACE_WRITE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define AF_SESSION_ENV "AFLAME_SESSION"
#define AF_SESSION_MAGIC 0x3173736573666100ull
/*
 * In the trace while it is not finished, and locked by its recorder. Two lines: the shared
 * directory; the boot id and the name of the host that it is on.
 */
#define AF_SESSION_FILE ".session"
/* What .session becomes where there was no room for names: the next command writes them. */
#define AF_UNNAMED_FILE ".unnamed"
#define AF_WATCHED_FILE ".watched" /* touched each second by who watches the recording */
#define AF_LIVE_PREFIX ".live."    /* what he gets: copies of the trace so far, by number */

enum af_cpu_mode {
	AF_CPU_OFF = 0,
	AF_CPU_PERF = 1,  /* perf_event_open task-clock with sigtrap */
	AF_CPU_TIMER = 2, /* per-thread CPU-time timers */
};

/*
 * May be changed at any moment by the recorder; samplers and hooks load it once, relaxed. While
 * PAUSED what happens is not recorded, but definitions (processes, modules, devices, kernels) and
 * the end of device work that was launched before are.
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
	AF_SESSION_KERNEL =
	    8, /* the recorder adds what threads do in the kernel, and starts samplers */
	AF_SESSION_CUDA = 16,
	AF_SESSION_GRAPHS_WHOLE = 32, /* CUDA graphs: one record a launch, not one a node */
	AF_SESSION_AUTOGRAD = 128,    /* PyTorch is asked to tell of autograd's operations */
	AF_SESSION_GPU_SAMPLES = 256, /* instructions that GPUs execute are sampled */
	AF_SESSION_GPU_EXACT = 512,   /* … one kernel after the other, with its launch */
};

enum {
	AF_SAMPLED_SLOTS = 64,
	AF_FILTERED_SLOTS = 64,
	AF_EXEC_SLOTS = 64,
	AF_GPUS_SAMPLED = 16,
	AF_SESSION_FLUSH_MS = 500,
	AF_SESSION_PAGE = 4096,
};

/*
 * The pages `control`, fixed before the first target starts but for the atomics, and `counts`. The
 * recorder alone writes the first, and holds what stands up to @sampled against its own copy.
 */
struct af_session {
	uint64_t magic;
	uint64_t nonce;   /* of $AFLAME_SESSION */
	uint32_t version; /* AF_TRACE_VERSION */
	uint32_t flags;   /* enum af_session_flag */
	uint32_t cpu_mode;
	uint32_t recorder_pid;
	uint32_t recorder_uid; /* effective: whose processes reach it */
	uint64_t sample_period_ns;
	uint64_t gpu_samples_second; /* of each GPU, all its processors busy */
	uint64_t ring_bytes;         /* what the trace may take on disk, 0: no bound */
	/* The trace: its directory, wherever that was renamed to since, or else its absolute path.
	 */
	uint64_t trace_device, trace_inode;
	char trace_dir[1024];
	_Atomic uint32_t state; /* enum af_session_state */
	/*
	 * With AF_SESSION_KERNEL: process ordinals, each in the slot of its remainder, whose event
	 * the recorder has taken over; it wakes who waits there (futex). Threads made earlier would
	 * be sampled without what it adds.
	 */
	_Atomic uint32_t sampled[AF_SAMPLED_SLOTS];
	/* The same: the recorder has seen a filter of system calls there. */
	_Atomic uint32_t filtered[AF_FILTERED_SLOTS];
	/*
	 * With --ring: raised now and then; a stream that sees it changed forgets which stacks,
	 * call paths and shapes it has defined and gives ids from 1 again, so that old definitions
	 * can go.
	 */
	_Atomic uint32_t round;
	_Atomic uint64_t lost_oldest; /* events that gave way to newer ones */

	/* `counts`: what the targets hand out and report of themselves, summed over processes. */
	_Alignas(4096) _Atomic uint32_t nr_processes; /* last process ordinal handed out */
	_Atomic uint64_t nr_instances;                /* last stream instance handed out */
	_Atomic uint64_t handler_ns;                  /* spent in sampling handlers */
	_Atomic uint64_t handler_calls;
	_Atomic uint64_t replay_hits, replay_misses, replay_wrong;
	_Atomic uint64_t lost_no_stream; /* events: no stream could be made */
	_Atomic uint64_t lost_busy;      /* samples merged or dropped inside a sample */
	_Atomic uint64_t sampler_failed; /* processes whose sampler could not be started */
	/*
	 * By remainder of the pid, pid << 32 | microseconds of CPU time: what a program that became
	 * another said of itself. The other takes it when it begins.
	 */
	_Atomic uint64_t written_before_exec[AF_EXEC_SLOTS];
	_Atomic uint64_t lost_forbidden; /* samples in processes that may not write (seccomp) */
	/*
	 * Process ordinals by their remainder: the process makes no system calls for recording any
	 * more; the recorder clears the slot when it samples the process from outside.
	 */
	_Atomic uint32_t forbidden[AF_FILTERED_SLOTS];
	/* GPUs whose instructions are sampled, by one process each: hash of the UUID << 32 | pid.
	 */
	_Atomic uint64_t gpus_sampled[AF_GPUS_SAMPLED];
	/* Processes that hand over what devices did every AF_SESSION_FLUSH_MS; some may be gone. */
	_Atomic uint32_t nr_flushers;
	/* Mappings read for addresses that the loader does not know; readings put off. */
	_Atomic uint64_t maps_read, maps_put_off;
};

_Static_assert(sizeof(struct af_session) == 2 * AF_SESSION_PAGE, "two files of a page each");

enum { AF_SESSION_DIR_MAX = 256 }; /* bytes of its path with the NUL */

/* Which directory it is; zeros: not known yet. */
struct af_session_place {
	uint64_t device, inode;
};

/*
 * The shared directory @path where it is ours (our effective user's, for nobody else) and, where
 * @place is known, still that one: a descriptor (O_PATH), and *@place. Else -errno. This and the
 * next are async-signal-safe.
 */
int af_session_dir_open(const char *path, struct af_session_place *place);

enum af_session_role {
	AF_SESSION_TARGET, /* may not write `control`, nor have it made writable */
	AF_SESSION_RECORDER,
};

/* Maps the session in @dir_fd where its files are ours and whole; NULL: there is none. */
struct af_session *af_session_map(int dir_fd, enum af_session_role role);

/* A target's, where it may open one file at a time only. */
struct af_session *af_session_map_by_path(const char *path);
void af_session_unmap(struct af_session *s);

/* Makes its files, the first page as @made has it, and maps them. 0 or -errno. */
int af_session_make(int dir_fd, const struct af_session *made, struct af_session **mapped);

/* The value of $AFLAME_SESSION. */
enum { AF_SESSION_ENV_MAX = AF_SESSION_DIR_MAX + 24 };
void af_session_env_write(char *text, size_t size, const char *dir, uint64_t nonce);
bool af_session_env_read(const char *text, char *dir, size_t size, uint64_t *nonce);

enum af_ask {
	AF_ASK_ADMIT = 0, /* the process begins */
	/* A thread goes into execve(): its process's event is to be off, and on if it came back. */
	AF_ASK_EXEC_BEGINS = 1,
	AF_ASK_EXEC_FAILED = 2,
	/* CUDA cannot be recorded from within: somebody else has CUPTI, or there is none. */
	AF_ASK_CUDA_OUTSIDE = 3,
	/* It is about to forbid itself what sampling needs: no signal of ours from the answer on.
	 */
	AF_ASK_FORBIDDEN = 4,
};

/*
 * The datagram a process sends to `door`, with at most one descriptor beside it. What is asked
 * later comes with one end of a socket: that it is closed is the answer.
 */
struct af_hello {
	uint32_t process;      /* its ordinal */
	uint32_t pid;          /* as it sees itself; the socket's credentials say how we see it */
	uint32_t has_fd;       /* a perf event: to be kept open for the process */
	int32_t sampler_error; /* 0, or the -errno the sampler failed with */
	uint32_t sees_kernel;  /* the event counts in the kernel too, and waits to be enabled */
	uint32_t ask;          /* enum af_ask */
	uint64_t time_ns;      /* of the hello: the program that runs now sent it */
	uint64_t random_at;    /* AT_RANDOM of getauxval(3): another one is another program */
};

#endif
