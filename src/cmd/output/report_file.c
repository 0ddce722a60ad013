#include "cmd/output/report_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/fs.h"
#include "cmd/output/picture.h"

enum { NAMES_TRIED = 1000 };

/* Is the file made by aflame? Its pages say so in their first lines. */
static bool report_is_ours(const char *file)
{
	char head[1024];
	scope_close int fd = af_open_regular(AT_FDCWD, file, O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head - 1);

	head[n > 0 ? n : 0] = 0;
	return strstr(head, "<meta name=\"generator\" content=\"aflame ");
}

/* "report.html", "report-rank-0017.html", "report-rank-0017-2.html" */
static void report_number(char *file, size_t size, const char *stem, const char *dot, int number)
{
	if (number > 1)
		snprintf(file, size, "%s-%d%s", stem, number, dot);
	else
		snprintf(file, size, "%s%s", stem, dot);
}

void af_report_name(char *file, size_t size, const char *stem, const char *dot, bool named,
                    const char *who)
{
	struct stat st;

	report_number(file, size, stem, dot, 1);
	for (int i = 2; !named && i < NAMES_TRIED && !lstat(file, &st) && !report_is_ours(file);
	     i++) {
		if (i == 2)
			fprintf(stderr, "aflame %s: %s is not a report of aflame's and is kept\n",
			        who, file);
		report_number(file, size, stem, dot, i);
	}
}

int af_report_write(const char *dir, struct af_output to, const struct af_results *r,
                    const char *title, struct af_err *err)
{
	struct af_picture picture = {.title = title};
	struct af_picture_request request = {
	    .format = af_format_for("html"),
	    .to = to,
	    .picture = &picture,
	    .results = r,
	    .dir = dir,
	};

	return af_picture_write(&request, err);
}
