/*
 * Build step, not part of aflame: turns a file into a C array, so that scripts and style sheets
 * are written as what they are and still travel inside the program.
 *
 *	embed NAME FILE [bare] > out.c	→ const unsigned char af_embed_NAME[];
 *					   const unsigned af_embed_NAME_size;
 *
 * Bare: a script without what only its readers need, a quarter of it: comments, indentation, most
 * newlines, spaces beside signs. A comment must end its line, and no string may run over lines. The
 * array ends with a zero byte that the size does not count. Readers use AF_EMBED (embed.h).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned size;

static void put(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++, size++)
		printf("%s%d,", size % 24 ? "" : "\n", (unsigned char)text[i]);
}

static bool is_sign(char c)
{
	return c && strchr("{}()[];,:?&|=!<>*", c);
}

/* Spaces beside signs are for readers; in text they stay, and where there may be a pattern. */
static void put_code(const char *line, size_t len)
{
	bool keep = strcspn(line, "`/") < len;
	char quote = 0;

	for (size_t i = 0; i < len; i++) {
		if (quote || keep || line[i] != ' ' ||
		    !(is_sign(line[i - 1]) || is_sign(line[i + 1])))
			put(line + i, 1);
		if (quote && line[i] == '\\' && i + 1 < len)
			put(line + ++i, 1);
		else if (quote ? line[i] == quote : line[i] == '\'' || line[i] == '"')
			quote = quote ? 0 : line[i];
	}
}

/*
 * A line of a script; tells whether the next one is inside a comment. After some characters no
 * statement can end, so that the newline is not needed.
 */
static bool put_bare(const char *line, bool comment)
{
	line += strspn(line, " \t");
	comment = comment || !strncmp(line, "/*", 2);
	if (comment)
		return !strstr(line, "*/");
	size_t len = strcspn(line, "\n");
	const char *remark = strstr(line, " /*");
	if (remark && !strcmp(line + len - 2, "*/\n"))
		for (len = (size_t)(remark - line); len && line[len - 1] == ' ';)
			len--;
	put_code(line, len);
	if (len && !strchr(";,{([", line[len - 1]))
		put("\n", 1);
	return false;
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	bool comment = false;

	if (argc != 3 && (argc != 4 || strcmp(argv[3], "bare"))) {
		fprintf(stderr, "usage: embed NAME FILE [bare]\n");
		return 2;
	}
	FILE *in = fopen(argv[2], "rb");
	if (!in) {
		fprintf(stderr, "embed: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	printf("extern const unsigned char af_embed_%s[];\n", argv[1]);
	printf("extern const unsigned af_embed_%s_size;\n", argv[1]);
	printf("const unsigned char af_embed_%s[] = {", argv[1]);
	while ((len = getline(&line, &room, in)) >= 0)
		if (argc == 4)
			comment = put_bare(line, comment);
		else
			put(line, (size_t)len);
	printf("\n0};\nconst unsigned af_embed_%s_size = %u;\n", argv[1], size);
	free(line);
	if (ferror(in) || fclose(in) || fflush(stdout)) {
		fprintf(stderr, "embed: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	return 0;
}
