#include "render/html/script.h"

#include <stddef.h>

#include "render/embed/embed.h"

AF_EMBED(dom_js);
AF_EMBED(names_js);
AF_EMBED(format_js);
AF_EMBED(palette_js);
AF_EMBED(payload_js);
AF_EMBED(tree_js);
AF_EMBED(transforms_js);
AF_EMBED(callers_js);
AF_EMBED(reader_js);
AF_EMBED(search_js);
AF_EMBED(state_js);
AF_EMBED(difference_js);
AF_EMBED(canvas_js);
AF_EMBED(flame_js);
AF_EMBED(table_js);
AF_EMBED(panel_js);
AF_EMBED(annotate_js);
AF_EMBED(groups_js);
AF_EMBED(range_js);
AF_EMBED(chart_js);
AF_EMBED(tracks_js);
AF_EMBED(steps_js);
AF_EMBED(minimap_js);
AF_EMBED(timeline_paint_js);
AF_EMBED(timeline_js);
AF_EMBED(heat_js);
AF_EMBED(timepages_js);
AF_EMBED(keys_js);
AF_EMBED(model_js);
AF_EMBED(answers_js);
AF_EMBED(summary_js);
AF_EMBED(layout_js);
AF_EMBED(page_js);
AF_EMBED(serve_js);
AF_EMBED(app_js);
AF_EMBED(main_js);

struct part {
	const unsigned char *data;
	const unsigned *size;
};

void html_script(struct af_buf *b, bool served)
{
#define PART(name)                                                                                 \
	{                                                                                          \
		af_embed_##name, &af_embed_##name##_size                                           \
	}
	static const struct part parts[] = {
	    PART(dom_js),        PART(names_js),
	    PART(format_js),     PART(palette_js),
	    PART(payload_js),    PART(tree_js),
	    PART(callers_js),    PART(search_js),
	    PART(state_js),      PART(transforms_js),
	    PART(difference_js), PART(canvas_js),
	    PART(flame_js),      PART(table_js),
	    PART(panel_js),      PART(annotate_js),
	    PART(groups_js),     PART(range_js),
	    PART(chart_js),      PART(tracks_js),
	    PART(steps_js),      PART(timeline_paint_js),
	    PART(minimap_js),    PART(timeline_js),
	    PART(heat_js),       PART(reader_js),
	    PART(timepages_js),  PART(keys_js),
	    PART(model_js),      PART(answers_js),
	    PART(summary_js),    PART(layout_js),
	    PART(page_js),       PART(app_js),
	};
	static const struct part talk = PART(serve_js), last = PART(main_js);
#undef PART
	af_buf_str(b, "(() => {\n'use strict';\n");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		af_buf_add(b, parts[i].data, *parts[i].size);
	if (served)
		af_buf_add(b, talk.data, *talk.size);
	af_buf_add(b, last.data, *last.size);
	af_buf_str(b, "})();\n");
}
