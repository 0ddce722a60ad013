/* Tables as text for people and as JSON for programs. */
#ifndef AF_RENDER_TABLES_H
#define AF_RENDER_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct af_facts;
struct af_table;

/*
 * One table, aligned, at most @limit rows (0: all; what is left out is counted), its title in bold
 * and rows in their tones with @colour. What a terminal would act on is shown as \xNN (af_buf_terminal).
 */
void af_table_text(struct af_buf *b, const struct af_table *t, uint32_t limit, bool colour);

/*
 * One table as {"name","title","note","columns":[{"title","unit"}],"nr_rows","rows":[[…]]}; ns,
 * bytes and counts as numbers, percentages as hundredths. What report.html carries, too. Columns
 * that are there for programs only, or have nothing in any row, are `"hidden":true`.
 */
void af_table_json(struct af_buf *b, const struct af_table *t, uint32_t limit);

/* All tables as {"format":1,"tables":[…]} and a newline. */
void af_facts_json(struct af_buf *b, const struct af_facts *f, uint32_t limit);

#endif
