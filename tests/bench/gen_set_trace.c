/* The trace of one rank, as the recorder would have written it. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/tables/metadata.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/write.h"
#include "gen_set.h"
#include "trace/metadata.h"

enum { PID = 4000, START_NS = 1000000, FUNCTION_LAUNCH = 1, FUNCTION_WAIT, DEVICE_BEHIND = 500000 };

struct writer {
	const struct set_job *j;
	const struct set_host *h;
	struct set_truth *truth;
	uint32_t rank;
	int dirfd;
	struct af_stream recorder, thread, buffers, kernel, names;
	uint32_t correlation;
};

static uint64_t at(const struct writer *w, uint64_t ns)
{
	return set_clock(w->h, ns);
}

static int open_one(struct writer *w, struct af_stream *s, const char *name, uint64_t instance,
                    uint32_t process)
{
	int fd = af_create_private(w->dirfd, name);

	if (fd < 0)
		return fd;
	int rc = af_stream_open_file(s, fd, instance, process);
	s->pid = PID + w->rank + (process ? 1 : 0);
	s->tid = s->pid;
	return rc;
}

static __attribute__((format(printf, 3, 4))) void note(struct writer *w, const char *key,
                                                       const char *fmt, ...)
{
	char value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof value, fmt, ap);
	va_end(ap);
	struct af_tail tail[] = {{key, (uint32_t)strlen(key), 0},
	                         {value, (uint32_t)strlen(value), 0}};
	af_stream_put_tail(&w->recorder, AF_KIND_NOTE, 0, "", 0, tail, 2);
}

static void anchor(struct writer *w, uint64_t ns)
{
	uint64_t now = at(w, ns);

	/* Clocks of the day have no drift here: the job's time is theirs. */
	af_stream_put(&w->recorder, clock, now + 50, .clock = AF_CLOCK_REALTIME, .mono_ns = now,
	              .foreign = (uint64_t)(w->h->realtime_ns + w->h->base_ns + (int64_t)ns),
	              .uncertainty_ns = 50);
}

static void notes_begin(struct writer *w)
{
	w->recorder.last_ns = at(w, START_NS);
	note(w, "cmd", "./solver --steps %u", w->j->nr_steps);
	note(w, "host", "%s, Linux 6.1.0, 64 CPUs", w->h->name);
	note(w, "aflame", "%s", AFLAME_VERSION);
	note(w, "rank", "%u", w->rank);
	note(w, "ranks.size", "%u", w->j->o.ranks);
	note(w, "job", "gen-set-%llu", (unsigned long long)w->j->o.seed);
	if (!w->j->o.no_boot_id)
		note(w, "boot_id", "%s", w->h->boot_id);
	note(w, "collector.cpu", "bpf: kernel stacks and off-CPU time, 99 a second");
	note(w, "sample.period_ns", "10101010");
	anchor(w, START_NS);
	note(w, "pid", "%u", PID + w->rank + 1);
}

static void notes_end(struct writer *w, uint64_t cpu_ns)
{
	uint64_t end = at(w, w->j->steps[w->j->nr_steps] + 60000000);

	af_stream_put(&w->recorder, process_end, end, .process = 1, .status = 0, .user_ns = cpu_ns,
	              .max_rss_bytes = 64 << 20, .source = AF_USAGE_ENDED);
	af_stream_put(&w->recorder, usage, end, .process = 0, .whose = AF_USAGE_CHILDREN,
	              .source = AF_USAGE_WAIT, .user_ns = cpu_ns);
	af_stream_put(&w->recorder, usage, end, .process = 1, .tid = w->thread.tid,
	              .whose = AF_USAGE_OWN, .source = AF_USAGE_ENDED, .user_ns = cpu_ns);
	note(w, "end.status", "with status 0");
	anchor(w, w->j->steps[w->j->nr_steps] + 60000000);
	note(w, "end_ns", "%llu", (unsigned long long)end);
}

static void text_put(struct af_stream *s, enum af_kind kind, uint64_t now, const void *fixed,
                     size_t size, const char *text)
{
	struct af_tail tail = {text, (uint32_t)strlen(text), 0};

	af_stream_put_tail(s, kind, now, fixed, size, &tail, 1);
}

static void define_process(struct writer *w, uint64_t now)
{
	struct af_stream *s = &w->thread;
	struct af_ev_thread thread = {s->tid}, cupti = {s->tid + 1};
	struct af_ev_process process = {.pid = s->pid, .ppid = w->recorder.pid};
	struct af_tail tails[] = {{"/opt/solver/bin/solver", 22, 0}, {"./solver", 8, 0}};
	struct af_ev_mapping mapping = {
	    .start = 0x400000, .end = 0x500000, .flags = AF_MAPPING_MAIN, .epoch = 1};
	struct af_tail file[] = {{"", 0, 1}, {"/opt/solver/bin/solver", 22, 0}};
	struct af_ev_process_note of = {1};
	char rank[16];

	snprintf(rank, sizeof rank, "%u", w->rank);
	text_put(s, AF_KIND_THREAD, now, &thread, sizeof thread, "solver");
	text_put(&w->buffers, AF_KIND_THREAD, now, &cupti, sizeof cupti, "cupti");
	text_put(&w->kernel, AF_KIND_THREAD, now, &thread, sizeof thread, "solver");
	af_stream_put_tail(s, AF_KIND_PROCESS, now, &process, sizeof process, tails, 2);
	struct af_tail is_rank[] = {{"rank", 4, 0}, {rank, (uint32_t)strlen(rank), 0}};
	af_stream_put_tail(s, AF_KIND_PROCESS_NOTE, now, &of, sizeof of, is_rank, 2);
	af_stream_put_tail(s, AF_KIND_MAPPING, now, &mapping, sizeof mapping, file, 2);
}

static void define_device(struct writer *w, uint64_t now)
{
	struct af_stream *s = &w->thread;
	struct af_ev_device device = {.device = 1, .type = AF_DEVICE_GPU, .api = AF_API_CUDA};
	struct af_tail tails[] = {{"Mock GPU", 8, 0}, {"aflame", 6, 0}, {"1", 1, 0}};
	struct af_ev_function launch = {FUNCTION_LAUNCH, AF_API_CUDA, AF_CATEGORY_LAUNCH};
	struct af_ev_function wait = {FUNCTION_WAIT, AF_API_CUDA, AF_CATEGORY_SYNC};
	char name[32];

	af_stream_put_tail(s, AF_KIND_DEVICE, now, &device, sizeof device, tails, 3);
	af_stream_put(s, queue, now, .queue = 1, .device = 1, .context = 1);
	af_stream_put(s, clock, now, .clock = AF_CLOCK_DEVICE, .device = 1, .mono_ns = now,
	              .foreign = now - DEVICE_BEHIND, .uncertainty_ns = 40);
	text_put(s, AF_KIND_FUNCTION, now, &launch, sizeof launch, "cuLaunchKernel");
	text_put(s, AF_KIND_FUNCTION, now, &wait, sizeof wait, "cuStreamSynchronize");
	for (uint32_t k = 0; k < SET_KERNELS; k++) {
		struct af_ev_kernel kernel = {.kernel = k + 1};
		snprintf(name, sizeof name, "stencil_%u", k);
		text_put(s, AF_KIND_KERNEL, now, &kernel, sizeof kernel, name);
		af_stream_put(&w->buffers, descriptor, now, .descriptor = k + 1, .op = AF_OP_KERNEL,
		              .queue = 1, .kernel = k + 1, .global_x = 1024 * (k + 1),
		              .local_x = 256, .local_y = 1, .local_z = 1);
	}
}

static void sample_put(struct writer *w, uint64_t ns, uint32_t path, uint64_t weight)
{
	af_stream_put(&w->thread, sample, at(w, ns), .callpath = path, .weight_ns = weight);
	w->truth->paths[path].count++;
	w->truth->paths[path].ns += weight;
}

static void call_put(struct writer *w, uint32_t function, uint64_t begin, uint64_t end,
                     struct set_sum *sum)
{
	uint64_t ns = at(w, end) - at(w, begin);

	if (ns <= AF_U24_MAX)
		af_stream_put(&w->thread, call, at(w, end), PATH_CUDA, w->correlation,
		              (uint8_t)function, af_u24_make((uint32_t)ns));
	else
		af_stream_put(&w->thread, call_long, at(w, end), PATH_CUDA, w->correlation,
		              function, ns, 0);
	sum->count++;
	sum->ns += ns;
}

/* Launches, and samples between them. Returns when the last kernel has ended. */
static uint64_t step_compute(struct writer *w, uint32_t step, const struct set_step *is)
{
	uint32_t n = w->j->launches, parts = n > SET_SAMPLES ? n : SET_SAMPLES;
	uint64_t cpu_ns = is->cpu_ns / parts, idle = is->begin, sampled = 0;

	for (uint32_t i = 0; i < parts; i++) {
		uint64_t now = is->begin + i * cpu_ns;
		if (i < n) {
			uint64_t kernel =
			    set_random(w->j, 20, w->rank, w->correlation) % SET_KERNELS;
			uint64_t ns = set_kernel_ns(w->j, w->rank, w->correlation);
			call_put(w, FUNCTION_LAUNCH, now, now + 1800, &w->truth->launch);
			uint64_t start = now + 5000 > idle ? now + 5000 : idle;
			af_stream_put(&w->buffers, gpu_work, at(w, start + ns),
			              (uint32_t)kernel + 1, w->correlation++,
			              at(w, start) - DEVICE_BEHIND, (uint32_t)ns, 0);
			w->truth->kernels[kernel].count++;
			w->truth->kernels[kernel].ns += ns;
			idle = start + ns;
		}
		if ((i + 1) * SET_SAMPLES / parts > i * SET_SAMPLES / parts) {
			uint64_t path =
			    set_random(w->j, 21, w->rank, (uint64_t)step * parts + i) % SET_PATHS;
			uint64_t weight = sampled == SET_SAMPLES - 1
			                      ? is->cpu_ns - sampled * (is->cpu_ns / SET_SAMPLES)
			                      : is->cpu_ns / SET_SAMPLES;
			sample_put(w, now + 2000, (uint32_t)path + 1, weight);
			sampled++;
		}
	}
	return idle;
}

static void step_put(struct writer *w, uint32_t step)
{
	const struct set_job *j = w->j;
	struct set_sum *calls = w->truth->calls;
	struct set_step is;

	set_step_of(j, w->rank, step, &is);
	uint64_t idle = step_compute(w, step, &is), now = is.begin + is.cpu_ns;
	if (is.slow_ns)
		sample_put(w, now += is.slow_ns, PATH_SLOW, is.slow_ns);
	call_put(w, FUNCTION_WAIT, now, j->launches && idle + 2000 > now ? idle + 2000 : now + 500,
	         &w->truth->wait);
	w->correlation++;
	af_stream_put(&w->kernel, offcpu, at(w, is.send_begin), .callpath = PATH_DISK,
	              .state = AF_STATE_DISK, .blocked_ns = is.disk_ns);
	w->truth->disk_ns += is.disk_ns;
	struct set_message to = {is.to, 7, 1024 + w->rank % 512},
			   from = {is.from, 7, 1024 + is.from % 512};
	if (!j->o.no_messages && j->o.ranks > 1) {
		calls[CALL_SEND].count++;
		calls[CALL_SEND].ns += set_call_put(&w->thread, CALL_SEND, at(w, is.send_begin),
		                                    at(w, is.send_end), &to);
		calls[CALL_RECV].count++;
		calls[CALL_RECV].ns += set_call_put(&w->thread, CALL_RECV, at(w, is.receive_begin),
		                                    at(w, is.receive_end), &from);
	}
	if (!j->o.no_collectives) {
		struct set_message all = {0, 0, 8};
		calls[CALL_ALLREDUCE].count++;
		calls[CALL_ALLREDUCE].ns += set_call_put(&w->thread, CALL_ALLREDUCE,
		                                         at(w, is.enter), at(w, is.leave), &all);
	}
}

static uint64_t events_put(struct writer *w)
{
	const struct set_job *j = w->j;
	uint64_t before = 0, after = 0;
	uint32_t steps = set_has(&j->o.dead, w->rank) ? j->nr_steps / 2 : j->nr_steps;

	for (uint32_t p = 0; p < PATH_END; p++)
		before += w->truth->paths[p].ns;
	w->truth->calls[CALL_INIT].count++;
	w->truth->calls[CALL_INIT].ns +=
	    set_call_put(&w->thread, CALL_INIT, at(w, 3 * START_NS), at(w, 50 * START_NS), NULL);
	for (uint32_t s = 0; s < steps; s++)
		step_put(w, s);
	if (steps < j->nr_steps)
		return 0;
	uint64_t end = j->steps[steps] + 1000 * 1000;
	w->truth->calls[CALL_FINALIZE].count++;
	w->truth->calls[CALL_FINALIZE].ns +=
	    set_call_put(&w->thread, CALL_FINALIZE, at(w, end), at(w, end + 50 * START_NS), NULL);
	for (uint32_t p = 0; p < PATH_END; p++)
		after += w->truth->paths[p].ns;
	return after - before;
}

/* The text differs from host to host; the part that describes functions is made once. */
static int metadata_put(const struct writer *w)
{
	static struct af_buf apis;
	struct af_buf b = {0};

	if (!apis.len)
		af_api_metadata(&apis, af_api_named("mpi"));
	af_metadata_text(&b, (uint64_t)w->h->base_ns, (uint64_t)(w->h->base_ns + w->h->realtime_ns),
	                 w->h->name);
	char *version = strstr(b.data, "aflame_trace_version = ");
	if (set_has(&w->j->o.version, w->rank) && version)
		version[strlen("aflame_trace_version = ")] = '9';
	af_buf_add(&b, apis.data, apis.len);
	scope_close int fd = af_create_private(w->dirfd, AF_METADATA_FILE);
	int rc = fd < 0 ? fd : af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc;
}

/* The recorder was of another host, and died two hours ago. */
static int session_put(const struct writer *w)
{
	const struct timespec times[2] = {{1795640000, 0}, {1795640000, 0}};
	char text[128];
	int n = snprintf(text, sizeof text, "/dev/shm/aflame.gone%u\n%s %s\n", w->rank,
	                 w->h->boot_id, w->h->name);

	scope_close int fd = af_create_private(w->dirfd, ".session");
	int rc = fd < 0 ? fd : af_write_all(fd, text, (size_t)n);
	if (!rc)
		futimens(fd, times);
	return rc;
}

static int streams_open(struct writer *w)
{
	int rc = open_one(w, &w->recorder, "recorder", (uint64_t)2 << 32, 0);

	if (!rc)
		rc = open_one(w, &w->thread, "s1-0", 1, 1);
	if (!rc)
		rc = open_one(w, &w->buffers, "s1-1", 2, 1);
	if (!rc)
		rc = open_one(w, &w->kernel, "s1-1000002", 3, 1);
	if (!rc && !set_has(&w->j->o.dead, w->rank))
		rc = open_one(w, &w->names, "symbols", 4, 0);
	w->buffers.tid = w->thread.tid + 1;
	return rc;
}

static int streams_close(struct writer *w)
{
	struct af_stream *all[] = {&w->recorder, &w->thread, &w->buffers, &w->kernel, &w->names};
	static const char *const files[] = {"recorder", "s1-0", "s1-1", "s1-1000002", "symbols"};
	bool dead = set_has(&w->j->o.dead, w->rank), cut = set_has(&w->j->o.truncated, w->rank);
	int rc = 0;

	for (uint32_t i = 0; i < (dead ? 4u : 5u); i++) {
		struct stat st = {0};
		int one = af_stream_close(all[i]);
		rc = rc ? rc : one;
		if (fstatat(w->dirfd, files[i], &st, 0))
			continue;
		w->truth->bytes += (uint64_t)st.st_size;
		scope_close int fd = cut ? openat(w->dirfd, files[i], O_WRONLY) : -1;
		if (i && fd >= 0 && ftruncate(fd, st.st_size / 2 + 7))
			rc = -errno;
	}
	return rc;
}

int set_trace_write(const struct set_job *j, uint32_t rank, int dirfd, const char *name,
                    struct set_truth *truth)
{
	struct writer w = {.correlation = 1,
	                   .j = j,
	                   .h = &j->hosts[set_host_of(j, rank)],
	                   .truth = truth,
	                   .rank = rank};

	if (mkdirat(dirfd, name, 0700))
		return -errno;
	scope_close int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w.dirfd = fd;
	int rc = fd < 0 ? -errno : metadata_put(&w);
	if (!rc)
		rc = streams_open(&w);
	if (rc)
		return rc;
	uint64_t now = at(&w, 2 * START_NS);
	notes_begin(&w);
	define_process(&w, now);
	define_device(&w, now);
	set_paths_define(&w.thread, now);
	set_paths_define(&w.kernel, now);
	uint64_t cpu_ns = events_put(&w);
	if (set_has(&j->o.dead, rank)) {
		rc = session_put(&w);
	} else {
		notes_end(&w, cpu_ns);
		set_paths_name(&w.names, at(&w, j->steps[j->nr_steps] + 70000000));
	}
	int closed = streams_close(&w);
	return rc ? rc : closed;
}
