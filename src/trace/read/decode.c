/* Splits the payload of an event into its fixed fields and tails, by the event table. */
#include "trace/read/reader.h"

#include <string.h>

/* One tail at *@p; advances it. */
static bool tail_split(const struct af_field_info *field, const uint8_t **p, size_t *left,
                       struct af_tail_view *tail)
{
	size_t used;

	if (field->class == AF_FIELD_STR) {
		const uint8_t *nul = memchr(*p, 0, *left);
		if (!nul)
			return false;
		*tail = (struct af_tail_view){*p, (uint32_t)(nul - *p)};
		used = (size_t)(nul - *p) + 1;
	} else {
		uint32_t count;
		if (*left < sizeof count)
			return false;
		memcpy(&count, *p, sizeof count);
		used = sizeof count + (size_t)count * af_field_size(field->type);
		if (used > *left)
			return false;
		*tail = (struct af_tail_view){*p + sizeof count, count};
	}
	*p += used;
	*left -= used;
	return true;
}

bool af_payload_split(const struct af_kind_info *info, const uint8_t *p, size_t size, void *fixed,
                      struct af_tail_view *tails)
{
	if (size < info->fixed_size)
		return false;
	if (fixed)
		memcpy(fixed, p, info->fixed_size);
	p += info->fixed_size;
	size -= info->fixed_size;

	const struct af_field_info *field = info->fields + info->nr_fields - info->nr_tails;
	for (uint32_t i = 0; i < info->nr_tails; i++) {
		struct af_tail_view tail;
		if (!tail_split(&field[i], &p, &size, &tail))
			return false;
		if (tails)
			tails[i] = tail;
	}
	return size == 0;
}

bool af_event_decode(const struct af_event *ev, void *fixed, size_t fixed_size,
                     struct af_tail_view tails[AF_TAILS_MAX])
{
	const struct af_kind_info *info = af_kind_info(ev->kind);

	if (!info || info->fixed_size != fixed_size)
		return false;
	if (info->nr_tails || !fixed)
		return af_payload_split(info, ev->payload, ev->payload_size, fixed, tails);
	/* Most events, of those that there are many of. */
	if (ev->payload_size != fixed_size)
		return false;
	memcpy(fixed, ev->payload, fixed_size);
	return true;
}
