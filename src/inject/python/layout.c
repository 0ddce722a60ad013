#include "inject/python/layout.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

/* clang-format off */
static const struct af_py_layout layouts[] = {
	{
		.version = 0x308, .chain = AF_PY_EACH,
		.tstate_frame = 24, .cframe_frame = AF_PY_NO_CFRAME,
		.frame_code = 32, .frame_back = 24, .frame_instr = 104, .lasti_scale = 1,
		.code_first_line = 40, .code_file = 104, .code_name = 112, .code_lines = 120,
		.str_ascii = 48, .str_compact = 72,
	},
	{
		.version = 0x309, .chain = AF_PY_EACH,
		.tstate_frame = 24, .cframe_frame = AF_PY_NO_CFRAME,
		.frame_code = 32, .frame_back = 24, .frame_instr = 104, .lasti_scale = 1,
		.code_first_line = 40, .code_file = 104, .code_name = 112, .code_lines = 120,
		.str_ascii = 48, .str_compact = 72,
	},
	{
		.version = 0x30a, .chain = AF_PY_EACH,
		.tstate_frame = 24, .cframe_frame = AF_PY_NO_CFRAME,
		.frame_code = 32, .frame_back = 24, .frame_instr = 96, .lasti_scale = 2,
		.code_first_line = 40, .code_file = 104, .code_name = 112, .code_lines = 120,
		.str_ascii = 48, .str_compact = 72,
	},
	{
		.version = 0x30b, .chain = AF_PY_ENTRY, .entry_is = 1,
		.tstate_frame = 56, .cframe_frame = 8, .cframe_previous = 16,
		.frame_code = 32, .frame_back = 48, .frame_instr = 56, .frame_entry = 68,
		.code_first_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136,
		.code_bytes = 184,
		.str_ascii = 48, .str_compact = 72,
	},
	{
		.version = 0x30c, .chain = AF_PY_SHIM, .entry_is = 3,
		.tstate_frame = 56, .cframe_frame = 0, .cframe_previous = 8,
		.frame_code = 0, .frame_back = 8, .frame_instr = 56, .frame_entry = 70,
		.code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136,
		.code_bytes = 192, .code_key = 88,
		.str_ascii = 40, .str_compact = 56,
	},
	{
		.version = 0x30d, .chain = AF_PY_SHIM, .entry_is = 3,
		.tstate_frame = 72, .cframe_frame = AF_PY_NO_CFRAME,
		.frame_code = 0, .frame_back = 8, .frame_instr = 56, .frame_entry = 70,
		.code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136,
		.code_bytes = 200, .code_key = 88,
		.str_ascii = 40, .str_compact = 56,
	},
	{
		.version = 0x30e, .chain = AF_PY_SHIM, .entry_is = 3,
		.tstate_frame = 72, .cframe_frame = AF_PY_NO_CFRAME,
		.frame_code = 0, .frame_back = 8, .frame_instr = 56, .frame_entry = 74,
		.code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136,
		.code_bytes = 208, .code_key = 88,
		.str_ascii = 40, .str_compact = 56,
	},
	{
		.version = 0x30f, .chain = AF_PY_SHIM, .entry_is = 3, .has_base = 1,
		.tstate_frame = 72, .cframe_frame = AF_PY_NO_CFRAME,
		.frame_code = 0, .frame_back = 8, .frame_instr = 56, .frame_entry = 74,
		.code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136,
		.code_bytes = 208, .code_key = 88,
		.str_ascii = 40, .str_compact = 56,
	},
};
/* clang-format on */

const struct af_py_layout *af_py_layout(uint32_t version)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

enum { FIRST_WITH_OFFSETS = 0x30d, NR_WITH_OFFSETS = 3 };

/* Bytes of _Py_DebugOffsets that are looked at, per minor version. */
static const uint16_t offsets_need[NR_WITH_OFFSETS] = {584, 760, 744};

/*
 * Where _Py_DebugOffsets of a minor version holds the offset that a field of the layout must have:
 * a u64 each.
 */
static const struct known_field {
	uint16_t at[NR_WITH_OFFSETS];
	uint16_t member; /* of struct af_py_layout */
	const char *name;
} fields[] = {
#define FIELD(at_313, at_314, at_315, member, name)                                                \
	{                                                                                          \
		{at_313, at_314, at_315}, offsetof(struct af_py_layout, member), name              \
	}
    FIELD(184, 208, 208, tstate_frame, "thread_state.current_frame"),
    FIELD(232, 256, 320, frame_back, "interpreter_frame.previous"),
    FIELD(240, 264, 328, frame_code, "interpreter_frame.executable"),
    FIELD(248, 272, 336, frame_instr, "interpreter_frame.instr_ptr"),
    FIELD(264, 288, 352, frame_entry, "interpreter_frame.owner"),
    FIELD(280, 320, 384, code_file, "code_object.filename"),
    FIELD(296, 336, 400, code_name, "code_object.qualname"),
    FIELD(304, 344, 408, code_lines, "code_object.linetable"),
    FIELD(312, 352, 416, code_first_line, "code_object.firstlineno"),
    FIELD(344, 384, 448, code_bytes, "code_object.co_code_adaptive"),
    FIELD(560, 640, 736, str_ascii, "unicode_object.asciiobject_size"),
#undef FIELD
};

/* Facts that the code relies on in every version. */
static const struct {
	uint16_t at[NR_WITH_OFFSETS], value;
	const char *name;
} constants[] = {
    {{360, 408, 472}, 8, "pyobject.ob_type"},      {{376, 424, 488}, 24, "type_object.tp_name"},
    {{520, 600, 696}, 16, "bytes_object.ob_size"}, {{528, 608, 704}, 32, "bytes_object.ob_sval"},
    {{544, 624, 720}, 32, "unicode_object.state"}, {{552, 632, 728}, 16, "unicode_object.length"},
};

int af_py_layout_has_offsets(const struct af_py_layout *l)
{
	return l->version >= FIRST_WITH_OFFSETS;
}

static uint64_t word_at(const void *offsets, size_t at)
{
	uint64_t w;

	memcpy(&w, (const char *)offsets + at, sizeof w);
	return w;
}

static int differs(const struct af_py_layout *l, const char *name, uint64_t is, uint64_t want,
                   struct af_err *err)
{
	return af_fail_plain(err, -ENOTSUP,
	                     "Python 3.%u keeps %s at %llu where %llu was expected: a patched or "
	                     "debug build",
	                     l->version & 0xffu, name, (unsigned long long)is,
	                     (unsigned long long)want);
}

int af_py_layout_verify(const struct af_py_layout *l, const void *offsets, size_t len,
                        struct af_err *err)
{
	unsigned minor = l->version - FIRST_WITH_OFFSETS;

	if (minor >= NR_WITH_OFFSETS || len < offsets_need[minor] ||
	    memcmp(offsets, "xdebugpy", 8) != 0)
		return af_fail_plain(err, -ENOTSUP, "Python 3.%u has no _Py_DebugOffsets",
		                     l->version & 0xffu);
	if (word_at(offsets, 8) >> 16 != l->version)
		return af_fail_plain(err, -ENOTSUP,
		                     "_Py_DebugOffsets are of version %llx, not of 3.%u",
		                     (unsigned long long)word_at(offsets, 8), l->version & 0xffu);
	if (word_at(offsets, 16))
		return af_fail_plain(
		    err, -ENOTSUP,
		    "Python 3.%u is a free-threaded build; aflame cannot read its frames yet",
		    l->version & 0xffu);

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct known_field *f = &fields[i];
		uint64_t is = word_at(offsets, f->at[minor]);
		uint16_t want;
		memcpy(&want, (const char *)l + f->member, sizeof want);
		if (is != want)
			return differs(l, f->name, is, want, err);
	}
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
		uint64_t is = word_at(offsets, constants[i].at[minor]);
		if (is != constants[i].value)
			return differs(l, constants[i].name, is, constants[i].value, err);
	}
	return 0;
}
