#include "render/picture/picture.h"

#include <string.h>

void af_picture_begin(struct af_buf *b, uint32_t width, uint32_t height, uint32_t font, uint32_t x,
                      const char *title)
{
	af_buf_fmt(b,
	           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
	           "viewBox=\"0 0 %u %u\" font-family=\"Verdana, sans-serif\" font-size=\"%u\">\n"
	           "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
	           width, height, width, height, font);
	af_picture_text(b, x, 24, " font-size=\"17\"", title);
}

void af_picture_text(struct af_buf *b, uint32_t x, uint32_t y, const char *more, const char *text)
{
	af_buf_fmt(b, "<text x=\"%u\" y=\"%u\"%s>", x, y, more);
	af_buf_xml(b, text, strlen(text));
	af_buf_str(b, "</text>\n");
}
