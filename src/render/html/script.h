/* The script of report.html, which is viewer/ in one piece. */
#ifndef AF_RENDER_HTML_SCRIPT_H
#define AF_RENDER_HTML_SCRIPT_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Append one function around all modules: they share a scope with each other and nothing else. A
 * page that is @served has one more, which talks to its server.
 */
void html_script(struct af_buf *b, bool served);

#endif
