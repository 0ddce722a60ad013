#include "cmd/record/hint.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/program.h"

/* Is the first word of @command a program that is installed? */
static bool is_installed(const char *command)
{
	char name[32], path[PATH_MAX];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(command, " "), command);
	return af_program_find(name, path);
}

/* The program for files of that ending, one that is installed if there is, or NULL. */
static const char *interpreter_of(const char *program)
{
	static const struct {
		const char *ending, *with;
	} kinds[] = {{".py", "python3"},    {".sh", "sh"},   {".js", "node"},    {".mjs", "node"},
	             {".pl", "perl"},       {".rb", "ruby"}, {".R", "Rscript"},  {".jl", "julia"},
	             {".jar", "java -jar"}, {".lua", "lua"}, {".lua", "luajit"}, {".php", "php"}};
	const char *dot = strrchr(program, '.'), *with = NULL;

	for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(dot, kinds[i].ending) && (!with || is_installed(kinds[i].with)))
			with = kinds[i].with;
	return with;
}

/* Could the kernel run it? An ELF file, or a script that names its interpreter. */
static bool is_program(const char *file)
{
	char head[4] = "";
	scope_close int fd = af_open_regular(AT_FDCWD, file, 0);

	return fd >= 0 && read(fd, head, sizeof head) == sizeof head &&
	       (!memcmp(head, "\177ELF", 4) || !memcmp(head, "#!", 2));
}

void af_program_hint(const char *program, char *hint, size_t size)
{
	const char *with = interpreter_of(program), *here = strchr(program, '/') ? "" : "./";
	struct af_buf word = {0};
	struct stat st;

	*hint = 0;
	if (stat(program, &st) || !S_ISREG(st.st_mode))
		return;
	af_buf_word(&word, program);
	int len = (int)word.len;
	if (with)
		snprintf(hint, size, ": run it as `%s %.*s`", with, len, word.data);
	else if (!access(program, X_OK))
		snprintf(hint, size, ": the one here is `%s%.*s`", here, len, word.data);
	else if (is_program(program) && *here)
		snprintf(hint, size, ": `chmod +x %.*s` makes it a program, `./%.*s`", len,
		         word.data, len, word.data);
	else if (is_program(program))
		snprintf(hint, size, ": `chmod +x %.*s` makes it a program", len, word.data);
	af_buf_free(&word);
}
