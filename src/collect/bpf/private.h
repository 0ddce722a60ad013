/*
 * Shared by the files of the collector `bpf`:
 *
 *	bpf.c       the hand-over at the control socket, the pump, privileges
 *	programs.c  loading and attaching
 *	image.c     which program a pid ran when, its ordinal and its words
 *	mapping.c   which code it had mapped
 *	elf.c       ELF files of strangers, and USDT in them
 *	unwind.c    frames without a frame pointer
 *	stream.c    events in the process's stream
 *	queue.c     records of the kernel's programs, held and written
 *	library.c   where the functions lie in libcuda's files
 *	calls.c     calls of CUDA by processes without libaflame, and on request by those with it
 *	functions.c calls of the functions that --uprobe names
 *	probes.c    uprobes
 *	kernel.c    facts about the kernel's own code
 *	drm.c       work of the kernel's GPU drivers
 *	usage.c     the CPU time that processes used
 *	forget.c    frees the state of processes that ended
 *
 * Samples are processed HOLD_NS after they were taken: by then a process that carries libaflame has
 * registered, and the side-band records of the time before have arrived from every CPU.
 */
#ifndef AF_COLLECT_BPF_PRIVATE_H
#define AF_COLLECT_BPF_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "base/buf.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/system/fs.h"
#include "bpf/record.h"
#include "collect/bpf/bpf.h"
#include "collect/bpf/library.h"
#include "collect/perf/sideband.h"
#include "collect/session/watcher.h"
#include "trace/write/stream.h"

enum { HOLD_NS = 200000000 };

/*
 * Module epochs of mappings that the recorder saw lie above all that libaflame
 * counts, so that libaflame's stacks are never looked up in the recorder's mappings, which may be
 * of another time.
 */
#define BPF_EPOCH AF_EPOCH_RECORDER

enum {
	BPF_FUNCTIONS_MAX = 256, /* of device APIs */
	/* BPF_TRACE_UPROBE_MULTI of include/uapi/linux/bpf.h, since Linux 6.6 */
	BPF_TRACE_UPROBES = 48,
};

struct bpf_mapping {
	uint64_t start, end, offset;
	uint64_t time_ns; /* 0: it existed before the recording */
	uint32_t epoch;   /* of modules, minus BPF_EPOCH */
	uint32_t path;    /* string */
	uint32_t build_id_size;
	uint8_t build_id[20];
};

struct bpf_out {
	struct af_stream stream;
	uint32_t finish_as;             /* the ring's number for af_drain_finish() */
	uint32_t tid;                   /* thread of the events that come now */
	struct af_keys kstacks, stacks; /* frames (of user stacks with their module epoch) → id */
	uint32_t nr_kstacks, nr_stacks;
	/* Epoch of struct af_session in which the ids were given */
	uint32_t epoch;
	uint64_t functions[BPF_FUNCTIONS_MAX / 64]; /* bits of the functions that are defined */
	uint64_t probed[AF_BPF_FUNCTIONS / 64];     /* … of those of --uprobe */
};

/* Must the kernel report calls of device APIs for this process? */
enum bpf_calls {
	BPF_CALLS_NONE, /* no such API is known in it */
	BPF_CALLS_WANTED,
	BPF_CALLS_OVER, /* probed, or must not be probed */
};

/* Programs for GPU drivers: none; their calls and work; and the batches that they are given. */
enum bpf_drivers {
	BPF_DRIVERS_NONE,
	BPF_DRIVERS_WORK,
	BPF_DRIVERS_BATCHES,
};

struct af_batches;
struct bpf_probes;

/* One program that one process ran: from its fork or exec to its end or the next exec. */
struct bpf_image {
	uint32_t pid;           /* in our namespace */
	uint32_t ns_pid;        /* in its own namespace, 0: not known yet */
	uint32_t process;       /* ordinal, 0: none yet */
	uint64_t start_ns;      /* 0: before the recording */
	uint64_t max_rss_pages; /* before its exec */
	/*
	 * The parent's pid of a process whose fork no event reported, in our namespace; 0: not
	 * known
	 */
	uint32_t ppid;
	/* Image of the process that forked it; NULL: not known, or not needed */
	struct bpf_image *from;
	uint32_t nr_forked;      /* images whose @from this is */
	struct bpf_image *older; /* the image that ran under this pid before */
	bool exec;               /* began by an exec, not by a fork */
	bool begun;              /* the exec is over: its own code runs */
	bool registration;       /* carries libaflame, which writes PROCESS and its own samples */
	bool in_scope;
	bool written;           /* PROCESS is */
	bool inherited_written; /* MAPPINGs of @from are */
	bool covered;           /* by an event of its own, enum af_bpf_cover ALL */
	bool ended, forgotten;
	uint64_t ended_ns;                         /* when we knew */
	uint32_t comm, exe, cmdline, cgroup, rank; /* strings */
	bool has_environment;                      /* its own has been read, for @rank */
	bool has_user;
	uint32_t user; /* its effective uid when it was last looked at */
	/* Its own; a fork also has those of bpf_image_above() until it execs */
	struct bpf_mapping *maps;
	uint32_t nr_above; /* images that have some of its mappings */
	bool has_all;      /* it has those of @from itself */
	uint32_t nr_maps, cap_maps, nr_maps_written;
	uint32_t epoch;
	struct bpf_out *out; /* NULL: nothing to write so far */
	uint32_t rules_of;   /* number under which unwind.c remembers its rules; 0: none so far */
	enum bpf_calls calls;
	bool outside;              /* it carries libaflame, which cannot see its calls */
	bool sampled_here;         /* it carries libaflame, which cannot sample it */
	uint32_t apis, probed;     /* bits of the APIs whose libraries it maps; and is probed for */
	struct bpf_probes *probes; /* of its calls, or NULL */
	struct bpf_probed {
		const struct bpf_library *library; /* that has the functions of these calls */
		uint32_t path;                     /* string: as it is mapped */
	} libraries[BPF_APIS];
	struct bpf_drm *drm; /* work asked of GPU drivers, or NULL */
};

/* From /proc/kallsyms; all 0 where it shows no addresses. */
struct bpf_kernel {
	uint64_t schedule, schedule_end;
	uint64_t wake_up, wake_up_end;
	uint64_t irq_entry, irq_entry_end, softirq_entry, softirq_entry_end;
};

struct bpf_queue {
	char *data;
	size_t head, len, cap;
};

struct bpf_used {
	uint64_t user_ns, kernel_ns;
};

struct af_bpf {
	struct af_recording *r;
	const struct af_watch_options *options;
	uint64_t period_ns;          /* of samples */
	struct record_bpf *programs; /* the skeleton */
	struct ring_buffer *ring;
	struct bpf_link **links; /* cpu_sample on each CPU */
	uint32_t nr_links;
	struct af_sideband sideband;
	struct bpf_queue queue;
	struct bpf_probes *probed; /* of --uprobe */
	uint64_t *nr_calls;        /* of each of its functions, so far */
	struct af_strtab strings;
	struct bpf_image **images;
	uint32_t nr_images, cap_images;
	struct af_map by_pid;  /* newest image */
	struct bpf_used *used; /* CPU time that processes used before the recording */
	uint32_t nr_used, cap_used;
	struct af_map used_by_pid; /* number in @used, from 1 */
	struct bpf_kernel kernel;
	struct bpf_out *idle; /* wake-ups by interrupts */
	struct af_map tables; /* of unwind.c, by file */
	struct bpf_rule *rules;
	uint32_t nr_rules_of;
	uint32_t nr_mappings; /* of all images */
	uint64_t lost_mappings;
	uint32_t unwind_left; /* bytes of unwind tables that may still be read in @unwind_second */
	uint64_t unwind_second;
	uint32_t own_cgroup; /* string */
	uint64_t counted[AF_BPF_COUNTS], lost_sideband;
	uint64_t forgot_ns;            /* when ended images were last freed */
	size_t strings_kept;           /* bytes, by then */
	uint32_t nr_callers;           /* images whose calls are WANTED */
	struct bpf_library *libraries; /* with functions to be probed */
	/*
	 * Probes are attached and detached within a time budget, because the kernel makes us wait
	 * each time.
	 */
	struct bpf_probing {
		int64_t left_ns;
		uint64_t counted_ns;     /* until when time has been given for it */
		bool late;               /* somebody waits for it now */
		uint32_t nr_missed;      /* processes that ended before it was their turn */
		struct bpf_probes *over; /* to be taken away */
	} probing;
	struct af_batches *batches; /* of GPUs, NULL: they are not seen */
	char drivers[900];          /* what is seen of GPU drivers; empty: nothing */
	bool reported_refusal;      /* the refusal of probes has been reported */
	bool stopped;
};

/* queue.c, for outside.c too: records wait in a queue until they are old enough. */
int bpf_queue_add(void *b, void *record, size_t size);
void bpf_queue_write(struct af_bpf *b, uint64_t until_ns);

/* Write a record of @size bytes as events of its process; one that is too short is passed over. */
void bpf_record_write(struct af_bpf *b, struct af_bpf_head *h, size_t size);

/* bpf.c: the process has no event of its own any more, so the clocks of CPUs sample it. */
void bpf_cover_end(struct af_bpf *b, struct bpf_image *i);

/* programs.c: load and attach by b->options and b->period_ns. 0, or -errno with a message. */
int bpf_programs_load(struct af_bpf *b, struct af_err *err);
int bpf_programs_attach(struct af_bpf *b, struct af_err *err);

/* Try to attach the programs for a moment. 0, or -errno with a message. */
int bpf_programs_try(struct af_bpf *b, struct af_err *err);

/* Take the programs that af_bpf_prepare() loaded, if they fit @b's options. False: they do not. */
bool bpf_prepared_take(struct af_bpf *b);
void bpf_programs_close(struct af_bpf *b);

/* image.c */

/* The image that ran as @pid at @time_ns; NULL when that is not known. */
struct bpf_image *bpf_image_at(struct af_bpf *b, uint32_t pid, uint64_t time_ns);

/* The same, made from /proc when there is none. */
struct bpf_image *bpf_image_need(struct af_bpf *b, uint32_t pid, uint64_t time_ns);

/* Take a side-band event: a fork makes a new image, an exec another one, a mapping is added. */
void bpf_image_sideband(struct af_bpf *b, const struct af_sideband_event *e);

/* The image's ordinal in the trace, given now if it has none; @image is past HOLD_NS or over. */
uint32_t bpf_image_process(struct af_bpf *b, struct bpf_image *image);

/* Write its PROCESS and notes unless that was done. */
void bpf_image_introduce(struct af_bpf *b, struct bpf_image *image);

/*
 * Take an exec record (its file, words, user and rank) and an exit record, which closes the streams
 * of the pid's images.
 */
void bpf_image_exec(struct bpf_image *image, struct af_bpf *b, const struct af_bpf_text *t);
void bpf_image_exit(struct bpf_image *image, struct af_bpf *b, const struct af_bpf_exit *e);

/* Drop the link to the image that forked it. */
void bpf_image_orphan(struct bpf_image *image);

/* Free one image; free all images and the table of pids. */
void bpf_image_free(struct af_bpf *b, struct bpf_image *image);
void bpf_images_free(struct af_bpf *b);

/* mapping.c */
void bpf_mapping_add(struct af_bpf *b, struct bpf_image *image, struct bpf_mapping m);
void bpf_mappings_lost(struct af_bpf *b); /* write how many were not kept */
void bpf_mappings_free(struct af_bpf *b, struct bpf_image *image);
void bpf_mappings_read(struct af_bpf *b, struct bpf_image *image); /* /proc/PID/maps */

/* The module epoch of the mappings at @time_ns. */
uint32_t bpf_mapping_epoch(const struct bpf_image *image, uint64_t time_ns);

/* Write the MAPPINGs that are not written yet. */
void bpf_mappings_write(struct af_bpf *b, struct bpf_image *image, uint64_t time_ns);

/*
 * For an image that carries libaflame and is over: write MAPPINGs of files that run-time compilers
 * map only to show where their code is described (perf map, jitdump). libaflame looks for code and
 * has no reason to write those.
 */
void bpf_markers_write(struct af_bpf *b, const struct bpf_image *image);

/* The mapping at @address; the newest, when that has changed. NULL: none known. */
const struct bpf_mapping *bpf_mapping_at(const struct bpf_image *image, uint64_t address);

/*
 * The difference between the run-time addresses of @m and those in its file; *@fd is an open
 * descriptor of the file, or -1.
 */
uint64_t bpf_mapping_bias(const struct af_bpf *b, const struct bpf_image *image,
                          const struct bpf_mapping *m, int *fd);

/* unwind.c */

/*
 * The user's part of @s, leaf first, into @pcs: by the unwind tables as far as the copied piece of
 * the stack reaches, then by the frame pointers that the kernel followed. Returns the number of
 * entries. Callers' program counters are return addresses less one. *@stop: COMPLETE when the last
 * has no caller.
 */
uint32_t bpf_unwind(struct af_bpf *b, struct bpf_image *image, const struct af_bpf_stacks *s,
                    uint64_t *pcs, uint32_t max, enum af_stop *stop);
void bpf_tables_close(struct af_bpf *b); /* of files; more may be opened */
void bpf_unwind_close(struct af_bpf *b);

/* stream.c */

/* The stream of @image, made when there is none; NULL when it cannot be made (counted). */
struct bpf_out *bpf_out_of(struct af_bpf *b, struct bpf_image *image);
void bpf_out_close(struct af_bpf *b, struct bpf_image *image);
/*
 * @image NULL: the idle task, which only wakes others. Replaces return addresses by the addresses
 * to look up.
 */
void bpf_write_stacks(struct af_bpf *b, struct bpf_image *image, struct af_bpf_stacks *s);
void bpf_write_comm(struct af_bpf *b, struct bpf_image *image, const struct af_bpf_head *h);
void bpf_idle_close(struct af_bpf *b);

/* probes.c */

struct bpf_program;
struct record_bpf;

/*
 * Places in a file; @semaphores are the counters of attached tracers, as offsets in the file too,
 * or NULL; @cookies are words that the program finds there, or NULL.
 */
struct bpf_places {
	const uint64_t *offsets, *semaphores, *cookies;
	uint32_t nr;
};

/* Can the kernel probe many functions at once, by a program loaded for that (multi-uprobes)? */
bool bpf_probes_at_once(void);

/*
 * Attach @program at @at of the file @path, in the process @pid only, or in all processes (0).
 * 0, or -errno and *@to is NULL.
 */
int bpf_probes_open(struct bpf_probes **to, const struct bpf_program *program, const char *path,
                    const struct bpf_places *at, uint32_t pid);
void bpf_probes_free(struct bpf_probes *p);

/* Lists of probes that wait to be freed, which takes time. @p may be NULL. */
void bpf_probes_add(struct bpf_probes **list, struct bpf_probes *p);
struct bpf_probes *bpf_probes_take(struct bpf_probes **list);

/* elf.c */

/*
 * libelf on a hostile file, mapped so that a truncated part reads as zeros. libelf's own mapping
 * would raise SIGBUS then (tests/opens).
 */
struct bpf_elf {
	struct af_file file;
	Elf *elf;
};

/* @e->elf, or NULL when it cannot be read. Close it either way; @fd may be closed before. */
Elf *bpf_elf_open(struct bpf_elf *e, int fd);
void bpf_elf_close(struct bpf_elf *e);

/*
 * The place @provider:@name of the file and its semaphore, as offsets. False: there is
 * none.
 */
bool bpf_usdt_find(int fd, const char *provider, const char *name, uint64_t *offset,
                   uint64_t *semaphore);

/* calls.c */

/* The file offset of @address, in a segment with one of @flags (PF_X). False: it is in none. */
bool bpf_file_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset);

/* Probe our own process for a moment: 0, or -errno. */
int bpf_calls_try(const struct record_bpf *programs);

/* @image maps @path; or was forked from @from. */
void bpf_calls_see(struct af_bpf *b, struct bpf_image *image, const char *path);
void bpf_calls_fork(struct af_bpf *b, struct bpf_image *image, const struct bpf_image *from);

/* Find all processes that map a driver now, since no event will report those before they call. */
void bpf_calls_find(struct af_bpf *b);

/* Now and then: probe the WANTED processes that are old enough to have registered and did not. */
void bpf_calls_poll(struct af_bpf *b, uint64_t now);

/* Recording ends: note the calls that were not seen. */
void bpf_calls_over(struct af_bpf *b);

/* @image carries libaflame: leave it alone, or see its calls at libaflame's own trace point. */
void bpf_calls_admit(struct af_bpf *b, struct bpf_image *image);

/* @image carries libaflame, which cannot see its calls: probe it now. */
void bpf_calls_outside(struct af_bpf *b, struct bpf_image *image);

static inline bool bpf_calls_are_ours(const struct bpf_image *image)
{
	return !image->registration || image->outside;
}

/* Remove the probes of @image: it is over, or reports its calls itself. */
void bpf_calls_end(struct af_bpf *b, struct bpf_image *image);

/* The id of the function in the CALL @s; 0 when the call must be left out. */
uint32_t bpf_calls_function(const struct bpf_image *image, const struct af_bpf_stacks *s);

/* Is the RECORDED_CALL @s plausible? The process itself chose its function and number. */
bool bpf_calls_recorded(const struct bpf_image *image, const struct af_bpf_stacks *s);

/* A CALL_SEEN of the function @s->what with the number @s->wake. */
void bpf_calls_write(struct bpf_out *out, const struct af_bpf_stacks *s, uint32_t callpath);
void bpf_calls_close(struct af_bpf *b);

/* functions.c */

/* All exits that are to be probed. */
uint32_t bpf_functions_nr_exits(const struct af_watch_options *o);

/* Attach the probes of b->options->functions. 0, or -errno with a message. */
int bpf_functions_attach(struct af_bpf *b, struct af_err *err);

/*
 * A CALL_SEEN of the FUNCTION @s, or a CALL_LONG if the call is over; a CALL_SUM for each function
 * of @t, of @size bytes.
 */
void bpf_functions_write(struct af_bpf *b, struct bpf_out *out, const struct af_bpf_stacks *s,
                         uint32_t callpath);
void bpf_functions_passed(struct af_bpf *b, struct bpf_image *image, const struct af_bpf_turns *t,
                          size_t size);

/* Recording ends, and streams are still open: what threads that go on have left; and notes. */
void bpf_functions_over(struct af_bpf *b);
void bpf_functions_close(struct af_bpf *b);

/* drm.c */

/*
 * Before the programs are loaded: of those for GPU drivers, choose what the running kernel has
 * functions and types for, of those that are @wanted. False: none is chosen.
 */
bool bpf_drm_choose(struct af_bpf *b, enum bpf_drivers wanted);

/* Are there any drivers of GPUs? */
bool bpf_drm_has_drivers(void);

/* Attach those that were loaded; b->drivers and a note say which the kernel lets us attach. */
void bpf_drm_attach(struct af_bpf *b);

/* A CALL_SEEN of the driver's function; a LAUNCH; a WORK_LONG with the times of @w. */
void bpf_drm_call_write(const struct af_bpf *b, struct bpf_image *image, struct bpf_out *out,
                        const struct af_bpf_stacks *s, uint32_t callpath);
void bpf_drm_submit_write(struct bpf_image *image, struct bpf_out *out,
                          const struct af_bpf_stacks *s, uint32_t callpath);
void bpf_drm_work_write(struct af_bpf *b, struct bpf_image *image, struct af_bpf_work *w);
void bpf_drm_free(struct af_bpf *b, struct bpf_image *image);

/* A BATCH of @size bytes: its kernels are those of the SUBMIT of its thread that comes next. */
void bpf_drm_batch_write(struct af_bpf *b, struct bpf_image *image, struct af_bpf_batch *record,
                         size_t size);
/* An UNBOUND: kernels whose code was there have no place any more. */
void bpf_drm_unbound_write(const struct af_bpf *b, struct bpf_image *image,
                           const struct af_bpf_unbound *u);
void bpf_drm_close(struct bpf_image *image); /* before its stream is closed */

/* Get ready for BATCHes. _over: recording ends; count what was lost of them. */
void bpf_drm_batches_open(struct af_bpf *b);
void bpf_drm_over(const struct af_bpf *b);

/* Now and then: read again what could not be read; tell where kernels lie. */
void bpf_drm_poll(struct af_bpf *b, uint64_t now);

/* usage.c */
/* Remember the CPU time used so far by processes that are going to be watched. */
void bpf_usage_begin(struct af_bpf *b);
/* @pid is a new process: the earlier process with that pid is gone. */
void bpf_usage_fresh(struct af_bpf *b, uint32_t pid);
/* Write PROCESS_END: of @image, which ended; and, when recording ends, of one that goes on. */
void bpf_usage_exit(struct af_bpf *b, const struct bpf_image *image, const struct af_bpf_exit *e);
/* Write USAGE of a thread that ended. */
void bpf_usage_thread(struct af_bpf *b, struct bpf_image *image,
                      const struct af_bpf_thread_exit *e);
void bpf_usage_end(struct af_bpf *b, const struct bpf_image *image);
void bpf_usage_close(struct af_bpf *b);

/* forget.c: now and then, when all records of before HOLD_NS are written. */
void bpf_forget(struct af_bpf *b, uint64_t now);

/* kernel.c */
void bpf_kernel_read(struct bpf_kernel *k);

/* How many leaf frames of @s belong to the tracing itself. */
uint32_t bpf_kernel_skip(const struct bpf_kernel *k, const struct af_bpf_stacks *s);

/* Was the waker an interrupt, and not the thread that it hit? */
bool bpf_kernel_in_irq(const struct bpf_kernel *k, const struct af_bpf_stacks *s);

#endif
