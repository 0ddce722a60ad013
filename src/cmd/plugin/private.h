/* Shared by the files of the room. */
#ifndef AF_CMD_PLUGIN_PRIVATE_H
#define AF_CMD_PLUGIN_PRIVATE_H

#include "cmd/plugin/plugins.h"
#include "plugin/plugin.h"
#include "render/render.h"

/* Where the results go. */
struct plugins_format {
	const struct af_format *trees, *slices; /* one of them, or none: text or JSON */
	bool gzip, png;
};

/* All plug-ins, and what they gave. */
struct plugins {
	const struct af_plugins_options *o;
	struct plugins_format format;
	struct af_plugin_results *results; /* one for each that has run */
	uint32_t nr;
};

/* The request for plug-in @i over the trace @dir. */
struct af_plugin_request plugins_request(const struct af_plugins_options *o, uint32_t i,
                                         const char *dir, const char *member);

/* members.c: run plug-in @i over all traces of the set; its results are merged into @to. */
int plugins_members(const struct af_plugins_options *o, uint32_t i, struct af_plugin_results *to,
                    struct af_err *err);

/* write.c: the format of the output's name; and the results in it. */
int plugins_format_choose(const struct af_plugins_options *o, struct plugins_format *format,
                          struct af_err *err);
int plugins_write(struct plugins *p, struct af_err *err);

/* The slices of all, behind those of the trace in the file @fd of a format that can_join. */
int plugins_slices_append(struct plugins *p, int fd, struct af_err *err);

/* page.c: all of them in a page. */
int plugins_page(struct plugins *p, struct af_err *err);

#endif
