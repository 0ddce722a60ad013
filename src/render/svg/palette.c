#include "render/svg/palette.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "render/render.h"
#include "render/svg/palette_map.h"

/* A range of colours; a name picks its place in it. */
struct palette_hue {
	uint8_t from[3], to[3];
};

enum hue {
	HUE_RED,
	HUE_GREEN,
	HUE_BLUE,
	HUE_AQUA,
	HUE_YELLOW,
	HUE_PURPLE,
	HUE_ORANGE,
	HUE_VIOLET,
	HUE_PINK,
	HUE_HOT,
	HUE_MEM,
	HUE_IO,
	HUE_WAKEUP,
	HUE_KIND, /* + enum af_frame */
	HUE_END = HUE_KIND + AF_FRAME_END
};

static const struct palette_hue hues[HUE_END] = {
    [HUE_RED] = {{208, 64, 60}, {246, 130, 122}},
    [HUE_GREEN] = {{72, 172, 70}, {134, 218, 128}},
    [HUE_BLUE] = {{92, 132, 222}, {148, 184, 246}},
    [HUE_AQUA] = {{60, 172, 178}, {124, 214, 218}},
    [HUE_YELLOW] = {{204, 190, 56}, {238, 226, 112}},
    [HUE_PURPLE] = {{176, 88, 206}, {216, 142, 238}},
    [HUE_ORANGE] = {{228, 132, 38}, {250, 178, 94}},
    [HUE_VIOLET] = {{134, 98, 222}, {180, 150, 246}},
    [HUE_PINK] = {{226, 112, 166}, {248, 164, 204}},
    [HUE_HOT] = {{206, 24, 0}, {254, 224, 56}},
    [HUE_MEM] = {{20, 184, 0}, {90, 236, 196}},
    [HUE_IO] = {{84, 88, 196}, {140, 150, 246}},
    [HUE_WAKEUP] = {{74, 158, 196}, {134, 206, 228}},
    /*
     * The shades of viewer/palette.js in its light theme, so that a kind has one colour in pages
     * and in pictures. Told apart with any colour vision, light enough for black text.
     */
    [HUE_KIND + AF_FRAME_NATIVE] = {{255, 166, 108}, {250, 197, 134}},
    [HUE_KIND + AF_FRAME_PYTHON] = {{103, 191, 248}, {160, 201, 255}},
    [HUE_KIND + AF_FRAME_KERNEL] = {{227, 119, 122}, {231, 149, 125}},
    [HUE_KIND + AF_FRAME_INLINED] = {{248, 208, 117}, {241, 235, 162}},
    [HUE_KIND + AF_FRAME_JIT] = {{233, 159, 215}, {251, 182, 209}},
    [HUE_KIND + AF_FRAME_GPU] = {{88, 193, 135}, {109, 207, 182}},
    [HUE_KIND + AF_FRAME_GPU_INSN] = {{190, 225, 133}, {189, 245, 187}},
    [HUE_KIND + AF_FRAME_PROCESS] = {{171, 182, 197}, {194, 198, 211}},
    [HUE_KIND + AF_FRAME_MARK] = {{207, 210, 214}, {226, 227, 231}},
    [HUE_KIND + AF_FRAME_MPI] = {{173, 147, 216}, {202, 164, 212}},
};

enum background { BG_PLAIN, BG_YELLOW, BG_BLUE, BG_GREEN, BG_GREY };

static const struct {
	const char *name;
	uint32_t top, bottom;
} backgrounds[] = {
    [BG_PLAIN] = {"plain", 0xfcfcfc, 0xf4f4f2}, [BG_YELLOW] = {"yellow", 0xf0efee, 0xf0ecb4},
    [BG_BLUE] = {"blue", 0xeeeff4, 0xdfe2fb},   [BG_GREEN] = {"green", 0xeef3ee, 0xdff3df},
    [BG_GREY] = {"grey", 0xf6f6f6, 0xe6e6e6},
};

/* A frame as a rule sees it. */
struct palette_frame {
	const char *text;
	size_t len;
	enum af_frame kind;
};

struct palette_spec {
	const char *name;
	enum background background;
	enum hue hue;
	enum hue (*rule)(const struct palette_frame *f); /* instead of hue */
};

static bool has(const struct palette_frame *f, const char *part)
{
	return memmem(f->text, f->len, part, strlen(part)) != NULL;
}

static bool begins(const struct palette_frame *f, const char *part)
{
	size_t len = strlen(part);
	return f->len >= len && !memcmp(f->text, part, len);
}

static enum hue rule_kind(const struct palette_frame *f)
{
	return HUE_KIND + f->kind;
}

/* Kernel orange, C++ yellow, the rest red: what all language palettes end in. */
static enum hue rule_native(const struct palette_frame *f)
{
	if (f->kind == AF_FRAME_KERNEL)
		return HUE_ORANGE;
	return has(f, "::") ? HUE_YELLOW : HUE_RED;
}

static enum hue rule_java(const struct palette_frame *f)
{
	if (f->kind == AF_FRAME_JIT)
		return HUE_GREEN;
	if (f->kind == AF_FRAME_INLINED)
		return HUE_AQUA;
	if (f->kind != AF_FRAME_KERNEL && !has(f, "::") && (has(f, "/") || has(f, ".")))
		return HUE_GREEN;
	return rule_native(f);
}

static enum hue rule_js(const struct palette_frame *f)
{
	if (f->kind == AF_FRAME_JIT)
		return has(f, "/") ? HUE_GREEN : HUE_AQUA;
	if (f->kind != AF_FRAME_KERNEL && has(f, ".js"))
		return HUE_GREEN;
	return rule_native(f);
}

static enum hue rule_perl(const struct palette_frame *f)
{
	if (has(f, "Perl") || has(f, ".pl"))
		return HUE_GREEN;
	return rule_native(f);
}

static enum hue rule_python(const struct palette_frame *f)
{
	if (f->kind != AF_FRAME_PYTHON && !has(f, ".py"))
		return rule_native(f);
	if (has(f, "site-packages/"))
		return HUE_AQUA;
	return has(f, "lib/python") || has(f, "<frozen ") ? HUE_BLUE : HUE_GREEN;
}

static enum hue rule_rust(const struct palette_frame *f)
{
	if (f->kind == AF_FRAME_KERNEL)
		return HUE_RED;
	if (begins(f, "core::") || begins(f, "std::") || begins(f, "alloc::") || begins(f, "<core"))
		return HUE_ORANGE;
	return has(f, "::") ? HUE_AQUA : HUE_YELLOW;
}

static enum hue rule_chain(const struct palette_frame *f)
{
	return f->len > 4 && !memcmp(f->text + f->len - 4, "_[w]", 4) ? HUE_AQUA : HUE_BLUE;
}

/* As Intel's AI flame graphs colour them. */
static enum hue rule_gpu(const struct palette_frame *f)
{
	if (f->kind == AF_FRAME_GPU_INSN)
		return HUE_GREEN;
	if (f->kind == AF_FRAME_GPU || begins(f, "NEOxx"))
		return HUE_AQUA;
	if (f->kind == AF_FRAME_PYTHON || begins(f, "py::"))
		return HUE_PINK;
	return rule_native(f);
}

static const struct palette_spec palettes[] = {
    {"kind", BG_PLAIN, .rule = rule_kind},
    {"hot", BG_YELLOW, HUE_HOT},
    {"mem", BG_GREEN, HUE_MEM},
    {"io", BG_BLUE, HUE_IO},
    {"wakeup", BG_BLUE, HUE_WAKEUP},
    {"chain", BG_BLUE, .rule = rule_chain},
    {"java", BG_YELLOW, .rule = rule_java},
    {"js", BG_YELLOW, .rule = rule_js},
    {"perl", BG_YELLOW, .rule = rule_perl},
    {"python", BG_YELLOW, .rule = rule_python},
    {"rust", BG_YELLOW, .rule = rule_rust},
    {"gpu", BG_YELLOW, .rule = rule_gpu},
    {"red", BG_GREY, HUE_RED},
    {"green", BG_GREY, HUE_GREEN},
    {"blue", BG_GREY, HUE_BLUE},
    {"aqua", BG_GREY, HUE_AQUA},
    {"yellow", BG_GREY, HUE_YELLOW},
    {"purple", BG_GREY, HUE_PURPLE},
    {"orange", BG_GREY, HUE_ORANGE},
    {"violet", BG_GREY, HUE_VIOLET},
    {"pink", BG_GREY, HUE_PINK},
};

const char *const af_palette_names[] = {"kind",   "hot",    "mem",  "io",     "wakeup", "chain",
                                        "java",   "js",     "perl", "python", "rust",   "gpu",
                                        "red",    "green",  "blue", "aqua",   "yellow", "purple",
                                        "orange", "violet", "pink", NULL};

static const struct palette_spec *palette_find(const char *name)
{
	for (size_t i = 0; i < sizeof palettes / sizeof *palettes; i++)
		if (!strcmp(palettes[i].name, name))
			return &palettes[i];
	return NULL;
}

static const char *palette_default(const struct af_tree *t)
{
	for (uint32_t n = 0; n < t->nr_names; n++) {
		enum af_frame f = af_tree_frame(t, n);
		if (f != AF_FRAME_NATIVE && f != AF_FRAME_MARK)
			return "kind";
	}
	return "hot";
}

static int palette_background(struct af_palette *pal, const char *name, struct af_err *err)
{
	unsigned rgb;
	char rest;

	if (sscanf(name, "#%6x%c", &rgb, &rest) == 1 && strlen(name) == 7) {
		pal->background[0] = pal->background[1] = rgb;
		return 0;
	}
	for (size_t i = BG_YELLOW; i < sizeof backgrounds / sizeof *backgrounds; i++) {
		if (strcmp(backgrounds[i].name, name))
			continue;
		pal->background[0] = backgrounds[i].top;
		pal->background[1] = backgrounds[i].bottom;
		return 0;
	}
	return af_fail_plain(err, -EINVAL,
	                     "no background called %s: yellow, blue, green, grey or #rrggbb", name);
}

int af_palette_open(struct af_palette *pal, const struct af_picture *p, const struct af_tree *t,
                    struct af_err *err)
{
	const char *name = p->palette ? p->palette : palette_default(t);

	*pal = (struct af_palette){.hash = p->hash, .random = p->random_colors, .map = p->colors};
	pal->spec = palette_find(name);
	if (!pal->spec)
		return af_fail_plain(err, -EINVAL, "no palette called %s", name);
	if (p->bgcolors)
		return palette_background(pal, p->bgcolors, err);
	pal->background[0] = backgrounds[pal->spec->background].top;
	pal->background[1] = backgrounds[pal->spec->background].bottom;
	return 0;
}

const char *af_palette_name(const struct af_palette *pal)
{
	return pal->spec->name;
}

/* 0..255: the first letters weigh most, so that names of one family look alike. */
static uint32_t place_by_letters(const char *text, size_t len)
{
	double place = 0, weight = 0.5;

	for (size_t i = 0; i < len && i < 8; i++, weight /= 2)
		place += weight * ((unsigned char)text[i] % 32) / 31;
	return place > 1 ? 255 : (uint32_t)(place * 255);
}

static uint32_t palette_choose(struct af_palette *pal, const struct palette_frame *f)
{
	const struct palette_hue *hue =
	    &hues[pal->spec->rule ? pal->spec->rule(f) : pal->spec->hue];
	uint64_t place =
	    pal->random ? af_mix(++pal->random_state) : af_mix(af_hash(f->text, f->len));
	uint32_t rgb = 0;

	if (pal->hash)
		place = place_by_letters(f->text, f->len) * 0x10101u;
	/* The mixed ranges vary by channel; a plain hue stays the hue it is. */
	bool mixed = hue == &hues[HUE_HOT] || hue == &hues[HUE_MEM];
	for (int i = 0; i < 3; i++) {
		int at = place >> (mixed ? 8 * i : 0) & 255;
		rgb = rgb << 8 | (uint32_t)(hue->from[i] + (hue->to[i] - hue->from[i]) * at / 255);
	}
	return rgb;
}

uint32_t af_palette_color(struct af_palette *pal, const char *text, size_t len, enum af_frame frame)
{
	struct palette_frame f = {text, len, frame};

	if (frame == AF_FRAME_MARK && len && text[0] == '-')
		return len == 1 ? 0xc8c8c8 : 0xa0a0a0; /* separators between stacks */
	uint32_t rgb = palette_choose(pal, &f);
	return pal->map ? af_palette_map_keep(pal->map, text, len, frame, rgb) : rgb;
}

uint32_t af_palette_root(struct af_palette *pal)
{
	uint32_t rgb = af_palette_kind(AF_FRAME_MARK);

	return pal->map ? af_palette_map_keep(pal->map, "", 0, AF_FRAME_MARK, rgb) : rgb;
}

uint32_t af_palette_kind(enum af_frame frame)
{
	const struct palette_hue *h = &hues[HUE_KIND + frame];
	uint32_t rgb = 0;

	for (int i = 0; i < 3; i++)
		rgb = rgb << 8 | (uint32_t)(h->from[i] + h->to[i]) / 2;
	return rgb;
}

uint32_t af_palette_delta(int64_t delta, uint64_t most, bool negate)
{
	uint64_t size = delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
	double part = most ? (double)size / (double)most : 0;
	uint32_t fade = 238 - (uint32_t)(180 * (part > 1 ? 1 : part));

	if (!delta)
		return 0xeeeeee;
	/* Never quite as white as no change. */
	if (fade > 222)
		fade = 222;
	return (delta > 0) != negate ? 0xff0000 | fade << 8 | fade : fade << 16 | fade << 8 | 0xff;
}
