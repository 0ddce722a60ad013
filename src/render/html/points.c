/*
 * Points of counters in report.html. A counter of the trace may have any number of them, so of four
 * neighbours the page keeps the least and the most, as often as needed: peaks and gaps stay.
 */
#include "base/arena.h"
#include "base/leb128.h"
#include "render/html/time.h"
#include "render/html/time_private.h"

enum { POINTS_MOST = 1 << 15, POINTS_TOGETHER = 4 };

/* Numbers of the page stay below it: a JavaScript number is exact up to there. */
#define POINTS_VALUE_MOST ((UINT64_C(1) << 53) - 1)

struct point {
	uint64_t at_ns, value;
};

static void point_write(struct html_time_track *track, const struct point *p)
{
	af_buf_leb128(&track->times, p->at_ns - track->last_ns);
	af_buf_leb128(&track->values, html_zigzag(p->value, track->last_value));
	track->last_ns = p->at_ns;
	track->last_value = p->value;
	track->nr_points++;
}

/* The next number of @b from *@at on. */
static uint64_t number_read(const struct af_buf *b, size_t *at)
{
	uint64_t value = 0;

	*at += af_leb128((const uint8_t *)b->data + *at, b->len - *at, false, &value);
	return value;
}

/* The least and the most of @nr points, in order of time. */
static void group_write(struct html_time_track *track, const struct point *points, uint32_t nr)
{
	uint32_t least = 0, most = 0;

	for (uint32_t i = 1; i < nr; i++) {
		least = points[i].value < points[least].value ? i : least;
		most = points[i].value > points[most].value ? i : most;
	}
	if (least == most)
		most = least ? 0 : nr - 1;
	point_write(track, &points[least < most ? least : most]);
	if (least != most)
		point_write(track, &points[least < most ? most : least]);
}

static void points_coarsen(struct html_time_track *track)
{
	struct af_buf times = track->times, values = track->values;
	struct point group[POINTS_TOGETHER], last = {0, 0};
	size_t time_at = 0, value_at = 0;
	const uint64_t nr = track->nr_points;
	uint32_t nr_group = 0;

	track->times = track->values = (struct af_buf){0};
	track->last_ns = track->last_value = track->nr_points = 0;
	for (uint64_t i = 0; i < nr; i++) {
		last.at_ns += number_read(&times, &time_at);
		uint64_t change = number_read(&values, &value_at);
		last.value += change & 1 ? ~(change >> 1) : change >> 1;
		group[nr_group++] = last;
		if (nr_group == POINTS_TOGETHER || i + 1 == nr) {
			group_write(track, group, nr_group);
			nr_group = 0;
		}
	}
	af_buf_free(&times);
	af_buf_free(&values);
}

uint64_t html_point_add(struct html_time_track *track, uint64_t at_ns, const struct af_point *p)
{
	struct point point = {.at_ns = at_ns, .value = p->value};

	if (track->is.counted) {
		if (point.value >= POINTS_VALUE_MOST)
			point.value = POINTS_VALUE_MOST - 1;
		point.value = p->gap ? 0 : point.value + 1;
		if (track->nr_points == POINTS_MOST)
			points_coarsen(track);
	}
	if (point.at_ns < track->last_ns)
		point.at_ns = track->last_ns;
	point_write(track, &point);
	return point.at_ns;
}
