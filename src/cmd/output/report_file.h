/* report.html: which file it is written to, and writing it. */
#ifndef AF_CMD_OUTPUT_REPORT_FILE_H
#define AF_CMD_OUTPUT_REPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/output/atomic_write.h"

struct af_err;
struct af_results;

#define AF_REPORT_DEFAULT "report.html"

/*
 * The name "STEM.DOT" for a report in @file, of @size bytes. Unless the user @named it, a file that
 * is no page of aflame's is kept, with a line of @who on standard error, and a number is added:
 * "report-2.html".
 */
void af_report_name(char *file, size_t size, const char *stem, const char *dot, bool named,
                    const char *who);

/* Write all views and tables of @r, of the trace in @dir, to @to. 0, or -errno with a message. */
int af_report_write(const char *dir, struct af_output to, const struct af_results *r,
                    const char *title, struct af_err *err);

#endif
