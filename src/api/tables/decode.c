#include "api/tables/decode.h"

/* Bytes that are left of a payload. */
struct rest {
	const uint8_t *at;
	size_t left;
	bool is_cut;
};

static const uint8_t *rest_take(struct rest *r, size_t size)
{
	const uint8_t *at = r->at;

	if (r->is_cut || size > r->left) {
		r->is_cut = true;
		return NULL;
	}
	r->at += size;
	r->left -= size;
	return at;
}

static struct af_api_view rest_string(struct rest *r)
{
	const uint8_t *nul = r->is_cut ? NULL : memchr(r->at, 0, r->left);

	if (!nul) {
		r->is_cut = true;
		return (struct af_api_view){0};
	}
	uint32_t len = (uint32_t)(nul - r->at);
	return (struct af_api_view){rest_take(r, (size_t)len + 1), len};
}

static struct af_api_view rest_elements(struct rest *r, size_t element)
{
	const uint8_t *count = rest_take(r, sizeof(uint16_t));
	uint16_t nr = 0;

	if (count)
		memcpy(&nr, count, sizeof nr);
	const uint8_t *data = rest_take(r, nr * element);
	return (struct af_api_view){data, data ? nr : 0};
}

static struct af_api_view rest_pointee(struct rest *r, const struct af_api_param *p)
{
	switch (p->pointee) {
	case AF_API_ONE: {
		const uint8_t *data = rest_take(r, p->target->size);
		return (struct af_api_view){data, data ? 1 : 0};
	}
	case AF_API_ARRAY:
	case AF_API_PAIRS:
		return rest_elements(r, p->target->size);
	case AF_API_STRING:
		return rest_string(r);
	default:
		return (struct af_api_view){0};
	}
}

bool af_api_decode(const struct af_api_function *f, const uint8_t *payload, size_t size,
                   struct af_api_call *call)
{
	if (size < sizeof call->head || size < f->fixed || f->nr_params > AF_API_ARGS)
		return false;
	struct rest rest = {payload + f->fixed, size - f->fixed, false};

	call->function = f;
	memcpy(&call->head, payload, sizeof call->head);
	call->result = f->result && f->result->size ? payload + sizeof call->head : NULL;
	call->has_bytes = f->bytes_len && f->bytes_len <= sizeof call->bytes;
	call->bytes = 0;
	if (call->has_bytes)
		memcpy(&call->bytes, payload + f->bytes_at, f->bytes_len);
	call->nr_args = f->nr_params;
	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct af_api_param *p = &f->params[i];
		struct af_api_arg *arg = &call->args[i];
		*arg = (struct af_api_arg){.param = p, .value = payload + p->at};
		if (p->is_inout)
			arg->before = rest_pointee(&rest, p);
		arg->target = rest_pointee(&rest, p);
	}
	call->is_cut = rest.is_cut;
	return true;
}

bool af_api_is_zero(const uint8_t *at, size_t size)
{
	while (size && !*at) {
		at++;
		size--;
	}
	return !size;
}

bool af_api_has_target(const struct af_api_call *call, const struct af_api_arg *arg)
{
	const struct af_api_view *view = &arg->target;
	bool failed = call->head.flags & AF_API_CALL_FAILED;

	if (!view->data)
		return false;
	if (arg->param->pointee == AF_API_ONE)
		return !(failed && arg->param->is_out) ||
		       !af_api_is_zero(view->data, arg->param->target->size);
	return view->nr || !(failed || call->head.flags & AF_API_CALL_UNREADABLE);
}

const char *af_api_value_name(const struct af_api_type *t, int64_t value)
{
	uint32_t low = 0, high = t->nr;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (t->values[middle].value < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->nr && t->values[low].value == value ? t->values[low].name : NULL;
}
