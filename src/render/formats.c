/* The formats of this build, and what they share. */
#include <errno.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "base/err.h"
#include "render/render.h"

extern const struct af_format af_format_svg;
extern const struct af_format af_format_folded;
extern const struct af_format af_format_text;
extern const struct af_format af_format_html;
extern const struct af_format af_format_pprof;
extern const struct af_format af_format_speedscope;
extern const struct af_format af_format_callgrind;
extern const struct af_format af_format_firefox;

const struct af_format *const af_formats[] = {
    &af_format_svg, &af_format_folded, &af_format_text, &af_format_html, NULL,
};

const struct af_format *const af_profile_formats[] = {
    &af_format_pprof,     &af_format_speedscope, &af_format_firefox,
    &af_format_callgrind, &af_format_folded,     NULL,
};

const struct af_format *af_format_for(const char *name)
{
	size_t len = strlen(name);

	for (const struct af_format *const *f = af_formats; *f; f++) {
		size_t ext = strlen((*f)->extension);
		if (!strcmp(name, (*f)->name) ||
		    (len > ext && !strcmp(name + len - ext, (*f)->extension)))
			return *f;
	}
	return NULL;
}

int af_picture_weight(const struct af_picture *p, const struct af_tree *t, struct af_err *err)
{
	if (p->differential) {
		if (t->nr_weights >= 2)
			return 1;
		return af_fail_plain(err, -EINVAL, "a difference needs two columns of counts");
	}
	if (!p->weight)
		return 0;
	int w = af_tree_weight(t, p->weight);
	if (w >= 0)
		return w;

	char have[200] = "";
	for (uint32_t i = 0; i < t->nr_weights; i++) {
		strncat(have, i ? ", " : "", sizeof have - strlen(have) - 1);
		strncat(have, t->weights[i].name, sizeof have - strlen(have) - 1);
	}
	return af_fail_plain(err, -EINVAL, "unknown weight %s; the weights are %s", p->weight,
	                     have);
}
