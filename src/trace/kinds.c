#include "trace/kinds.h"

#include <string.h>

#define FIELD(class, type, name, meaning) {#name, meaning, AF_FIELD_##class, AF_TYPE_##type},
#define AF_K(number, NAME, name, meaning)                                                          \
	static const struct af_field_info name##_fields[] = {AF_##NAME##_FIELDS(FIELD)};
AF_KINDS(AF_K)
#undef AF_K

#define TAIL_FIX 0
#define TAIL_STR 1
#define TAIL_SEQ 1
#define TAIL(class, type, name, meaning) +TAIL_##class
#define AF_K(number, NAME, name, meaning)                                                          \
	_Static_assert((0 AF_##NAME##_FIELDS(TAIL)) <= AF_TAILS_MAX, "too many tails");
AF_KINDS(AF_K)
#undef AF_K

static const struct af_kind_info kinds[] = {
#define AF_K(number, NAME, name, meaning)                                                          \
	[number] = {number,                                                                        \
	            #name,                                                                         \
	            meaning,                                                                       \
	            name##_fields,                                                                 \
	            sizeof name##_fields / sizeof *name##_fields,                                  \
	            sizeof(struct af_ev_##name),                                                   \
	            0 AF_##NAME##_FIELDS(TAIL)},
    AF_KINDS(AF_K)
#undef AF_K
};

_Static_assert(sizeof kinds / sizeof *kinds <= AF_KIND_MAX, "kinds have tables");

const struct af_kind_info *af_kind_info(uint16_t kind)
{
	if (kind >= sizeof kinds / sizeof *kinds || !kinds[kind].name)
		return NULL;
	return &kinds[kind];
}

uint32_t af_field_size(enum af_field_type type)
{
	static const uint8_t sizes[] = {
	    [AF_TYPE_u8] = 1,  [AF_TYPE_u16] = 2, [AF_TYPE_u24] = 3,
	    [AF_TYPE_u32] = 4, [AF_TYPE_u48] = 6, [AF_TYPE_u64] = 8,
	    [AF_TYPE_x64] = 8, [AF_TYPE_i32] = 4, [AF_TYPE_i64] = 8,
	};
	return type < sizeof sizes ? sizes[type] : 0;
}

#define VALUE(number, NAME, meaning) {number, #NAME, meaning},
static const struct af_value_info lost_values[] = {AF_LOSTS(VALUE)};
static const struct af_value_info stop_values[] = {AF_STOPS(VALUE)};
static const struct af_value_info op_values[] = {AF_OPS(VALUE)};
static const struct af_value_info state_values[] = {AF_STATES(VALUE)};
static const struct af_value_info category_values[] = {AF_CATEGORIES(VALUE)};
static const struct af_value_info memory_values[] = {AF_MEMORIES(VALUE)};
static const struct af_value_info overhead_values[] = {AF_OVERHEADS(VALUE)};
static const struct af_value_info unsampled_values[] = {AF_UNSAMPLEDS(VALUE)};
static const struct af_value_info symbol_source_values[] = {AF_SYMBOL_SOURCES(VALUE)};

/* Enumerations that event.h has without a table. */
#define NAMED(prefix, NAME, meaning)                                                               \
	{                                                                                          \
		AF_##prefix##_##NAME, #NAME, meaning                                               \
	}
static const struct af_value_info clock_values[] = {
    NAMED(CLOCK, REALTIME, ""),
    NAMED(CLOCK, BOOTTIME, ""),
    NAMED(CLOCK, DEVICE, ""),
};
static const struct af_value_info usage_values[] = {
    NAMED(USAGE, SELF, "the process itself, as it ended"),
    NAMED(USAGE, WAIT, "wait4: the process and the children it waited for"),
    NAMED(USAGE, LAST_SEEN, "/proc, at most a second before it ended"),
    NAMED(USAGE, WATCHED, "the difference while it was watched, in ticks of /proc"),
    NAMED(USAGE, ENDED, "its CPU clocks, when it had ended and nobody had waited for it"),
};
static const struct af_value_info whose_values[] = {
    NAMED(USAGE, OWN, "of the process or thread itself"),
    NAMED(USAGE, CHILDREN, "of the children that it waited for, with theirs"),
};
static const struct af_value_info mapping_values[] = {
    NAMED(MAPPING, DELETED, "the file was replaced or removed"),
    NAMED(MAPPING, JIT, "no file behind it"),
    NAMED(MAPPING, MAIN, "the executable"),
    NAMED(MAPPING, PYTHON, "holds the CPython interpreter"),
};
static const struct af_value_info sample_values[] = {
    NAMED(SAMPLE, SYSCALL, "the time was in the kernel, which was entered at the leaf"),
    NAMED(SAMPLE, MERGED, "stands for several ticks that could not be told apart"),
    NAMED(SAMPLE, JOINS, "the next SAMPLE of this thread has its user part and weight"),
};
static const struct af_value_info device_values[] = {
    NAMED(DEVICE, CPU, ""),
    NAMED(DEVICE, GPU, ""),
    NAMED(DEVICE, ACCELERATOR, ""),
    NAMED(DEVICE, OTHER, ""),
};
static const struct af_value_info api_values[] = {
    NAMED(API, OPENCL, ""),
    NAMED(API, CUDA, ""),
    NAMED(API, LEVEL_ZERO, ""),
    NAMED(API, HIP, ""),
    NAMED(API, OPENMP, ""),
    NAMED(API, CUDART, ""),
    NAMED(API, MPI, ""),
    NAMED(API, DRM, ""),
    NAMED(API, FUNCTION, "no API: a function that --uprobe named"),
};
static const struct af_value_info range_values[] = {
    NAMED(RANGE, PUSH, "begins, and ends with the next POP of the thread and domain"),
    NAMED(RANGE, POP, ""),
    NAMED(RANGE, START, "begins, and ends with the END of the same range, on any thread"),
    NAMED(RANGE, END, ""),
    NAMED(RANGE, MARK, ""),
};
static const struct af_value_info queue_values[] = {
    NAMED(QUEUE, OUT_OF_ORDER, ""),
    NAMED(QUEUE, USER_PROFILING, "the program had asked for event times itself"),
    NAMED(QUEUE, ON_DEVICE, ""),
};
static const struct af_value_info stall_values[] = {
    NAMED(STALL, NOT_ISSUED, "counts the samples of its namesake in which nothing was issued"),
};
static const struct af_value_info window_values[] = {
    NAMED(WINDOW, SERIALIZED, "one kernel at a time ran: each sample has its kernel's call"),
    NAMED(WINDOW, FULL, "the device's buffer was full, so samples are missing"),
    NAMED(WINDOW, ADDRESS_32, "the device gives the low 32 bits of addresses"),
};
static const struct af_value_info counter_values[] = {
    NAMED(COUNTER, AMOUNT, "amounts of their spans, which add up; else levels and means"),
};
static const struct af_value_info object_values[] = {
    NAMED(OBJECT, SOURCE, "program text"),
    NAMED(OBJECT, BINARY, "what the driver gives back for the device"),
    NAMED(OBJECT, IL, "SPIR-V or another intermediate language"),
    NAMED(OBJECT, NATIVE, "machine code the device runs: ELF, cubin"),
    NAMED(OBJECT, LISTING, "text: instructions as another profiler named them"),
};

static const struct af_value_info api_call_values[] = {
    NAMED(API_CALL, FAILED, "it returned an error"),
    NAMED(API_CALL, TRUNCATED, "an argument was too long to be recorded whole"),
    NAMED(API_CALL, UNREADABLE, "memory that an argument points to could not be read"),
};

#define ENUM(name, flags, values)                                                                  \
	{                                                                                          \
		name, flags, values, sizeof values / sizeof *values                                \
	}
static const struct af_enum_info enums[] = {
    ENUM("af_lost", false, lost_values),
    ENUM("af_stop", false, stop_values),
    ENUM("af_op", false, op_values),
    ENUM("af_thread_state", false, state_values),
    ENUM("af_call_category", false, category_values),
    ENUM("af_memory", false, memory_values),
    ENUM("af_overhead", false, overhead_values),
    ENUM("af_unsampled", false, unsampled_values),
    ENUM("af_range_edge", false, range_values),
    ENUM("af_symbol_source", false, symbol_source_values),
    ENUM("af_clock_id", false, clock_values),
    ENUM("af_usage_source", false, usage_values),
    ENUM("af_usage_whose", false, whose_values),
    ENUM("af_mapping_flag", true, mapping_values),
    ENUM("af_sample_flag", true, sample_values),
    ENUM("af_device_type", false, device_values),
    ENUM("af_api", false, api_values),
    ENUM("af_queue_flag", true, queue_values),
    ENUM("af_object_form", false, object_values),
    ENUM("af_stall_flag", true, stall_values),
    ENUM("af_window_flag", true, window_values),
    ENUM("af_counter_flag", true, counter_values),
    ENUM("af_api_call_flag", true, api_call_values),
};

const struct af_enum_info *af_field_enum(const struct af_field_info *field)
{
	if (strncmp(field->meaning, "enum ", 5))
		return NULL;

	const char *name = field->meaning + 5;
	size_t len = strcspn(name, ": ");
	for (size_t i = 0; i < sizeof enums / sizeof *enums; i++)
		if (strlen(enums[i].name) == len && !memcmp(enums[i].name, name, len))
			return &enums[i];
	return NULL;
}

static const struct af_value_info *enum_value(const struct af_enum_info *e, uint32_t value)
{
	for (uint32_t i = 0; i < e->nr_values; i++)
		if (e->values[i].value == value)
			return &e->values[i];
	return NULL;
}

const char *af_enum_name(const struct af_enum_info *e, uint32_t value)
{
	const struct af_value_info *v = enum_value(e, value);

	return v ? v->name : NULL;
}

static const char *enum_text(const struct af_enum_info *e, uint32_t value)
{
	const struct af_value_info *v = enum_value(e, value);

	return v ? v->meaning : "unknown";
}

const char *af_lost_name(uint32_t reason)
{
	const char *name = af_enum_name(&enums[0], reason);

	return name ? name : "unknown";
}

const char *af_lost_text(uint32_t reason)
{
	return enum_text(&enums[0], reason);
}

const char *af_stop_text(uint32_t stop)
{
	return enum_text(&enums[1], stop);
}

const char *af_op_text(uint32_t op)
{
	return enum_text(&enums[2], op);
}

const char *af_state_text(uint32_t state)
{
	return enum_text(&enums[3], state);
}

const char *af_call_category_text(uint32_t category)
{
	return enum_text(&enums[4], category);
}

const char *af_memory_text(uint32_t memory)
{
	return enum_text(&enums[5], memory);
}

const char *af_overhead_text(uint32_t overhead)
{
	return enum_text(&enums[6], overhead);
}

const char *af_unsampled_text(uint32_t cause)
{
	return enum_text(&enums[7], cause);
}
