#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/system/fs.h"
#include "emulated.h"
#include "small_tmpfs.h"
#include "trace_maker.h"

/* A ring, its writer, and what the drain sees of it. */
struct rig {
	char path[64];
	struct af_stream s;
	struct af_ring *ring;
	uint64_t next_seq;
	struct made disk; /* packets moved so far, as they would be on disk */
};

static int rig_open_at(struct rig *r, const char *path)
{
	*r = (struct rig){0};
	snprintf(r->path, sizeof r->path, "%s", path);
	int rc = af_stream_open_ring(&r->s, r->path, 3, 1, 100, 200);
	if (rc)
		return rc;
	int fd = open(r->path, O_RDWR);
	r->ring = mmap(NULL, AF_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return r->ring == MAP_FAILED ? -errno : 0;
}

static int make_rig(void **state)
{
	struct rig *r = calloc(1, sizeof *r);
	char path[64];

	*state = r;
	snprintf(path, sizeof path, "/dev/shm/aflame-test-%d", (int)getpid());
	unlink(path);
	return rig_open_at(r, path);
}

static int remove_rig(void **state)
{
	struct rig *r = *state;

	if (r->s.ring)
		af_stream_close(&r->s);
	munmap(r->ring, AF_RING_BYTES);
	unlink(r->path);
	free(r->disk.data);
	free(r);
	return 0;
}

static struct af_packet *rig_packet(const struct rig *r, uint32_t slot)
{
	return (void *)((char *)r->ring + AF_RING_PAGE + (size_t)slot * AF_SLOT_BYTES);
}

/* Move the next packet in the order of sequence numbers. False when it is not there yet. */
static bool drain_one(struct rig *r, bool open_too)
{
	for (uint32_t i = 0; i < atomic_load(&r->ring->nr_slots); i++) {
		uint8_t slot_state = atomic_load(&r->ring->state[i]);
		struct af_packet *p = rig_packet(r, i);
		if (slot_state == AF_SLOT_FREE || (slot_state == AF_SLOT_OPEN && !open_too) ||
		    p->seq != r->next_seq)
			continue;

		size_t size = p->content_bits / 8;
		r->disk.data = realloc(r->disk.data, r->disk.size + size);
		struct af_packet head = *p;
		head.packet_bits = size * 8;
		if (slot_state == AF_SLOT_OPEN)
			head.end_ns = UINT64_MAX;
		memcpy(r->disk.data + r->disk.size, p, size);
		memcpy(r->disk.data + r->disk.size, &head, sizeof head);
		r->disk.size += size;
		r->next_seq++;
		atomic_store(&r->ring->state[i], AF_SLOT_FREE);
		atomic_fetch_add(&r->ring->nr_freed, 1);
		return true;
	}
	return false;
}

static void drain_all(struct rig *r)
{
	while (drain_one(r, true))
		;
}

/* Read what was drained: samples whose weights count up from 0, with the gaps of discarded ones. */
static uint64_t read_back(const struct rig *r, struct af_trace_damage *damage, uint64_t *last)
{
	struct af_stream_bytes bytes = {r->disk.data, r->disk.size};
	struct af_trace *t;
	struct af_event ev;
	struct af_ev_sample sample;
	uint64_t events = 0, last_ns = 0;

	*last = 0;
	af_trace_open_memory(&t, &bytes, 1, 0);
	while (af_trace_next(t, &ev)) {
		assert_true(ev.time_ns >= last_ns);
		last_ns = ev.time_ns;
		assert_true(af_event_decode(&ev, &sample, sizeof sample, NULL));
		assert_true(!events || sample.weight_ns > *last);
		*last = sample.weight_ns;
		events++;
	}
	*damage = *af_trace_damage(t);
	assert_string_equal(damage->first, "");
	af_trace_close(t);
	return events;
}

static bool put(struct rig *r, uint64_t weight)
{
	return af_stream_put(&r->s, sample, 1000 + weight, 1, 0, weight);
}

/* Put events until @packets more packets were begun, or one was discarded. */
static uint64_t fill_packets(struct rig *r, unsigned packets, uint64_t weight)
{
	uint64_t seq = r->s.seq;

	while (r->s.seq < seq + packets)
		if (!put(r, weight++))
			break;
	return weight;
}

static void packet_is_valid_after_every_event(void **state)
{
	struct rig *r = *state;

	for (uint64_t n = 0; n < 6000; n++) {
		assert_true(put(r, n));
		struct af_packet *p = rig_packet(r, r->s.slot);
		assert_int_equal(atomic_load(&r->ring->state[r->s.slot]), AF_SLOT_OPEN);
		assert_int_equal(p->magic, AF_PACKET_MAGIC);
		assert_int_equal(p->instance, 3);
		assert_int_equal(p->process, 1);
		assert_int_equal(p->pid, 100);
		assert_int_equal(p->tid, 200);
		assert_int_equal(p->packet_bits, AF_SLOT_BYTES * 8);
		assert_int_equal(p->content_bits, r->s.used * 8);
		assert_true(p->content_bits <= p->packet_bits);
		struct af_event_header *h =
		    (void *)((char *)p + r->s.used - sizeof *h - sizeof(struct af_ev_sample));
		assert_int_equal(h->kind, AF_KIND_SAMPLE);
		assert_int_equal(h->time_ns, 1000 + n);
		drain_one(r, false);
	}
}

/* An event that was begun and not ended does not exist. */
static void event_exists_once_it_is_ended(void **state)
{
	struct rig *r = *state;
	struct af_trace_damage damage;
	uint64_t last;

	put(r, 0);
	memset(af_stream_begin(&r->s, AF_KIND_SAMPLE, 2000, 16), 0xff, 16);
	drain_all(r);
	assert_int_equal(read_back(r, &damage, &last), 1);
}

static void ring_grows_while_nothing_is_drained(void **state)
{
	struct rig *r = *state;
	uint32_t first = atomic_load(&r->ring->nr_slots), seen = first;
	uint64_t weight = 0;

	if (first == AF_RING_SLOTS_FIXED)
		skip(); /* this kernel cannot populate a mapping */
	assert_int_equal(first, AF_RING_SLOTS_FIRST);
	for (unsigned packets = 1; packets <= AF_RING_SLOTS; packets++) {
		weight = fill_packets(r, 1, weight);
		uint32_t nr = atomic_load(&r->ring->nr_slots);
		assert_true(nr >= packets);
		assert_true(nr == seen || nr == 2 * seen);
		seen = nr;
	}
	assert_int_equal(seen, AF_RING_SLOTS);
	assert_int_equal(atomic_load(&r->ring->discarded), 0);
}

static void drained_ring_does_not_grow(void **state)
{
	struct rig *r = *state;
	uint32_t first = atomic_load(&r->ring->nr_slots);
	uint64_t weight = 0, last;
	struct af_trace_damage damage;

	for (int packets = 0; packets < 200; packets++) {
		weight = fill_packets(r, 1, weight);
		drain_one(r, false);
	}
	assert_int_equal(atomic_load(&r->ring->nr_slots), first);
	drain_all(r);
	assert_int_equal(read_back(r, &damage, &last), weight);
}

static void full_ring_discards_and_counts(void **state)
{
	struct rig *r = *state;
	uint64_t weight = fill_packets(r, 1000, 0), last;
	struct af_trace_damage damage;

	/* fill_packets stopped after the first that had no room. */
	assert_int_equal(r->s.discarded, 1);
	uint64_t kept = weight - 1;
	for (int i = 0; i < 50; i++)
		assert_false(put(r, weight++));
	assert_int_equal(atomic_load(&r->ring->discarded), 51);

	/* One free slot, and writing goes on; the packet says what was lost before it. */
	assert_true(drain_one(r, false));
	assert_true(put(r, weight++));
	assert_int_equal(rig_packet(r, r->s.slot)->discarded, 51);
	kept++;
	drain_all(r);
	assert_int_equal(read_back(r, &damage, &last), kept);
	assert_int_equal(last, weight - 1);
	assert_int_equal(damage.discarded, 51);
	assert_int_equal(damage.missing, 0);
}

static void whatever_the_drain_does_nothing_goes_unnoticed(void **state)
{
	struct rig *r = *state;
	uint64_t weight = 0, kept = 0, last;
	struct af_trace_damage damage;

	srand(7);
	for (int round = 0; round < 200; round++) {
		for (int n = rand() % 20000; n > 0; n--)
			kept += put(r, weight++);
		for (int n = rand() % 6; n > 0; n--)
			drain_one(r, false);
	}
	af_stream_close(&r->s);
	assert_int_equal(atomic_load(&r->ring->closed), 1);
	uint64_t discarded = atomic_load(&r->ring->discarded);
	assert_int_equal(kept + discarded, weight);
	assert_true(discarded > 0);
	drain_all(r);
	assert_int_equal(read_back(r, &damage, &last), kept);
}

struct writer {
	struct rig *rig;
	uint64_t events, kept;
	_Atomic bool done;
};

static void *write_many(void *arg)
{
	struct writer *w = arg;

	for (uint64_t i = 0; i < w->events; i++)
		w->kept += put(w->rig, i);
	af_stream_close(&w->rig->s);
	w->done = true;
	return NULL;
}

static void writer_and_drain_run_at_once(void **state)
{
	struct rig *r = *state;
	struct writer w = {.rig = r, .events = 500000};
	struct af_trace_damage damage;
	pthread_t thread;
	uint64_t last;

	pthread_create(&thread, NULL, write_many, &w);
	while (!w.done)
		if (!drain_one(r, false))
			sched_yield();
	pthread_join(thread, NULL);
	drain_all(r);
	assert_int_equal(read_back(r, &damage, &last), w.kept);
	assert_int_equal(w.kept + atomic_load(&r->ring->discarded), w.events);
}

static void what_a_killed_writer_wrote_is_there(void **state)
{
	struct rig *r = *state;
	struct af_trace_damage damage;
	int pipes[2];
	uint64_t acknowledged = 0, last;

	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();
	if (!pid) {
		for (uint64_t i = 0;; i++) {
			put(r, i);
			if (i == 5000)
				(void)!write(pipes[1], &i, sizeof i);
			if (i > 5000)
				sched_yield();
		}
	}
	assert_int_equal(read(pipes[0], &acknowledged, sizeof acknowledged), 8);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
	drain_all(r);
	uint64_t events = read_back(r, &damage, &last);
	assert_true(events > acknowledged);
	assert_int_equal(last, events - 1);
	assert_int_equal(damage.discarded, 0);
}

static void time_never_goes_back(void **state)
{
	struct rig *r = *state;
	struct af_stream_bytes bytes;
	struct af_trace *t;
	struct af_event ev;
	static const uint64_t times[] = {50, 40, 60, 0, 60, 61}, want[] = {50, 50, 60, 60, 60, 61};

	for (int i = 0; i < 6; i++)
		af_stream_put(&r->s, launch, times[i], 1, 1);
	fill_packets(r, 1, 0);
	/* Across packets too. */
	uint64_t before = r->s.last_ns;
	assert_true(af_stream_put(&r->s, launch, 3, 1, 1));
	af_stream_owner(&r->s, 201);
	assert_true(af_stream_put(&r->s, launch, 4, 1, 1));
	assert_int_equal(rig_packet(r, r->s.slot)->begin_ns, before);
	drain_all(r);

	bytes = (struct af_stream_bytes){r->disk.data, r->disk.size};
	af_trace_open_memory(&t, &bytes, 1, 1ull << AF_KIND_LAUNCH);
	for (int i = 0; i < 6; i++) {
		assert_true(af_trace_next(t, &ev));
		assert_int_equal(ev.time_ns, want[i]);
	}
	assert_true(af_trace_next(t, &ev) && af_trace_next(t, &ev));
	assert_int_equal(ev.time_ns, before);
	assert_int_equal(af_trace_damage(t)->retimed, 0);
	af_trace_close(t);
}

static void packet_ends_with_its_last_event(void **state)
{
	struct rig *r = *state;

	put(r, 5);
	put(r, 9);
	struct af_packet *p = rig_packet(r, r->s.slot);
	af_stream_close(&r->s);
	assert_int_equal(p->begin_ns, 1005);
	assert_int_equal(p->end_ns, 1009);
}

static void put_thread(struct rig *r, uint32_t tid)
{
	struct af_ev_thread fixed = {.tid = tid};
	struct af_tail name = {"w", 1, 0};

	af_stream_owner(&r->s, tid);
	af_stream_put_tail(&r->s, AF_KIND_THREAD, 0, &fixed, sizeof fixed, &name, 1);
}

/* Threads that take turns share packets, and each event is still its thread's. */
static void thread_event_says_whose_the_next_ones_are(void **state)
{
	struct rig *r = *state;
	struct af_trace *t;
	struct af_event ev;
	static const uint32_t tids[] = {200, 201, 201, 203, 200};

	af_stream_owner(&r->s, 999);
	for (uint64_t i = 0; i < 5; i++) {
		put_thread(r, tids[i]);
		put(r, i);
		put(r, i);
	}
	assert_int_equal(rig_packet(r, r->s.slot)->tid, 200);
	drain_all(r);
	assert_int_equal(r->next_seq, 1);
	struct af_stream_bytes bytes = {r->disk.data, r->disk.size};
	/* Also when THREAD events are not asked for. */
	af_trace_open_memory(&t, &bytes, 1, ~(1ull << AF_KIND_THREAD));
	for (int i = 0; i < 10; i++) {
		assert_true(af_trace_next(t, &ev));
		assert_int_equal(ev.tid, tids[i / 2]);
	}
	assert_false(af_trace_next(t, &ev));
	af_trace_close(t);
}

static void event_larger_than_a_packet_is_discarded(void **state)
{
	enum {
		LARGEST = AF_SLOT_BYTES - sizeof(struct af_packet) - sizeof(struct af_event_header)
	};
	struct rig *r = *state;

	assert_null(af_stream_begin(&r->s, AF_KIND_NOTE, 1, LARGEST + 1));
	assert_null(af_stream_begin(&r->s, AF_KIND_NOTE, 1, 1 << 20));
	assert_null(af_stream_begin(&r->s, AF_KIND_NOTE, 1, SIZE_MAX - 100));
	assert_int_equal(r->s.discarded, 3);

	for (int i = 0; i < 3; i++) {
		char *p = af_stream_begin(&r->s, AF_KIND_NOTE, 1, LARGEST);
		assert_non_null(p);
		memset(p, 'x', LARGEST);
		af_stream_end(&r->s);
		assert_int_equal(rig_packet(r, r->s.slot)->content_bits, AF_SLOT_BYTES * 8);
	}
	assert_true(put(r, 0));
	assert_int_equal(r->s.seq, 4);
}

static void discard_is_counted(void **state)
{
	struct rig *r = *state;

	af_stream_discard(&r->s, 40);
	assert_int_equal(atomic_load(&r->ring->discarded), 40);
	put(r, 0);
	assert_int_equal(rig_packet(r, r->s.slot)->discarded, 40);
}

static void ring_is_private_and_never_another_ones(void **state)
{
	struct rig *r = *state;
	struct af_stream other;
	struct stat st;
	char link[80];

	assert_int_equal(stat(r->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(r->ring->magic, AF_RING_MAGIC);
	assert_int_equal(r->ring->version, AF_TRACE_VERSION);
	assert_int_equal(r->ring->instance, 3);
	assert_int_equal(r->ring->process, 1);
	assert_int_equal(r->ring->pid, 100);

	put(r, 0);
	assert_int_equal(af_stream_open_ring(&other, r->path, 9, 9, 9, 9), -EEXIST);
	assert_int_equal(r->ring->instance, 3);
	snprintf(link, sizeof link, "%s-link", r->path);
	assert_int_equal(symlink("/dev/shm/aflame-no-such", link), 0);
	assert_int_equal(af_stream_open_ring(&other, link, 9, 9, 9, 9), -EEXIST);
	unlink(link);
}

static void ring_that_cannot_be_made_leaves_no_file(void **state)
{
	struct rig *r = *state;
	struct rlimit old, small;
	struct af_stream other;
	char path[80];

	snprintf(path, sizeof path, "%s-2", r->path);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){4096, old.rlim_max};
	setrlimit(RLIMIT_FSIZE, &small);
	int rc = af_stream_open_ring(&other, path, 9, 9, 9, 9);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(access(path, F_OK), -1);
}

static int fill_file_system(void)
{
	struct rig r;

	if (rig_open_at(&r, "/dev/shm/ring"))
		return 1;
	uint64_t weight = 0;
	while (put(&r, weight))
		weight++;
	if (!weight || r.s.discarded != 1 || atomic_load(&r.ring->nr_slots) != 4)
		return 2;
	/* It goes on with the slots it has. */
	if (!drain_one(&r, false) || !put(&r, weight))
		return 3;
	struct af_stream other;
	if (af_stream_open_ring(&other, "/dev/shm/other", 1, 1, 1, 1) != -ENOSPC)
		return 4;
	return access("/dev/shm/other", F_OK) ? 0 : 5;
}

static void full_file_system_is_no_sigbus(void **state)
{
	SKIP_EMULATED("memory that a file system has no room for kills the emulator");
	in_small_tmpfs("size=400k", fill_file_system);
}

#define WITH_RING(test) cmocka_unit_test_setup_teardown(test, make_rig, remove_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    WITH_RING(packet_is_valid_after_every_event),
	    WITH_RING(event_exists_once_it_is_ended),
	    WITH_RING(ring_grows_while_nothing_is_drained),
	    WITH_RING(drained_ring_does_not_grow),
	    WITH_RING(full_ring_discards_and_counts),
	    WITH_RING(whatever_the_drain_does_nothing_goes_unnoticed),
	    WITH_RING(writer_and_drain_run_at_once),
	    WITH_RING(what_a_killed_writer_wrote_is_there),
	    WITH_RING(time_never_goes_back),
	    WITH_RING(packet_ends_with_its_last_event),
	    WITH_RING(thread_event_says_whose_the_next_ones_are),
	    WITH_RING(event_larger_than_a_packet_is_discarded),
	    WITH_RING(discard_is_counted),
	    WITH_RING(ring_is_private_and_never_another_ones),
	    WITH_RING(ring_that_cannot_be_made_leaves_no_file),
	    cmocka_unit_test(full_file_system_is_no_sigbus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
