/*
 * Build step, not part of aflame: turns a file into a C array, so that scripts and style sheets
 * are written as what they are and still travel inside the program.
 *
 *	embed NAME FILE [bare] > out.c	→ const unsigned char af_embed_NAME[];
 *					   const unsigned af_embed_NAME_size;
 *
 * Bare: a script without what only its readers need, a quarter of it: comments, indentation, most
 * newlines, spaces beside signs, the last semicolon in braces, words. A comment must end its line,
 * no text may run over lines, a statement must end in a semicolon, and no empty one may end a
 * block. The array ends with a zero byte that the size does not count. Readers use AF_EMBED
 * (embed.h).
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

enum { TEMPLATES = 8 };

/* Templates go on in the next line by the code within their `${…}`. */
static struct {
	char quote;                 /* ' " ` or / of a pattern, 0 in code */
	bool set;                   /* in a pattern's […] */
	char held;                  /* newline or ; to put unless what follows makes it spare */
	unsigned depth;             /* templates around this code */
	unsigned braces[TEMPLATES]; /* open ones in each */
} at;

static bool is_sign(char c)
{
	return c && strchr("{}()[];,:?&|=!<>*", c);
}

static bool is_sum(char c)
{
	return c == '+' || c == '-';
}

/* May the space between them go? Spaces beside signs are for readers, but `- -x` is not `--x`. */
static bool is_spare(char before, char after)
{
	return is_sign(before) || is_sign(after) || (is_sum(before) && !is_sum(after)) ||
	       (is_sum(after) && !is_sum(before));
}

/* The state after @c of code; a sign of division has spaces around it. */
static void code_char(char before, char c, char after)
{
	if (c == '\'' || c == '"' || c == '`' || (c == '/' && (before != ' ' || after != ' ')))
		at.quote = c;
	else if (c == '{' && at.depth)
		at.braces[at.depth - 1]++;
	else if (c == '}' && at.depth && !at.braces[at.depth - 1]--) {
		at.depth--;
		at.quote = '`';
	}
}

/* The state after @c of text or of a pattern. */
static void text_char(char before, char c)
{
	if (at.quote == '`' && c == '{' && before == '$' && at.depth < TEMPLATES) {
		at.braces[at.depth++] = 0;
		at.quote = 0;
	} else if (at.quote == '/' && (c == '[' || c == ']')) {
		at.set = c == '[';
	} else if (c == at.quote && !at.set) {
		at.quote = 0;
	}
}

/* Put @text, of code where @code is set. Statements end in ; so that newlines end none. */
static void put_held(const char *text, bool code)
{
	bool spare = code && (*text == '}' || (at.held == '\n' && is_sign(*text)));

	if (at.held && !spare)
		put(&at.held, 1);
	at.held = 0;
	if (code && *text == ';')
		at.held = ';';
	else
		put(text, 1);
}

static bool is_name(char c)
{
	return c && (strchr("_$.", c) || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	             (c >= 'A' && c <= 'Z'));
}

/* Put a shorter word of the same meaning as @word, after @before: the bytes it had, or 0. */
static size_t put_shorter(char before, const char *word)
{
	static const char *const words[][2] = {{"const", "let"}, {"true", "!0"}, {"false", "!1"}};

	for (size_t i = 0; !is_name(before) && i < sizeof words / sizeof *words; i++) {
		size_t len = strlen(words[i][0]);
		if (strncmp(word, words[i][0], len) || is_name(word[len]) || word[len] == ':')
			continue;
		for (const char *c = words[i][1]; *c; c++)
			put_held(c, true);
		return len;
	}
	return 0;
}

static void put_code(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char before = ' ', after = ' ';
		if (!at.quote)
			i += put_shorter(i ? line[i - 1] : ' ', line + i);
		if (i)
			before = line[i - 1];
		if (i + 1 < len)
			after = line[i + 1];
		if (at.quote || line[i] != ' ' || !is_spare(before, after))
			put_held(line + i, !at.quote);
		if (at.quote && line[i] == '\\' && i + 1 < len)
			put_held(line + ++i, false);
		else if (at.quote)
			text_char(before, line[i]);
		else
			code_char(before, line[i], after);
	}
	if (at.quote != '`')
		at.quote = 0;
}

/*
 * A line of a script; tells whether the next one is inside a comment. Its newline is not needed
 * after a sign.
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
	if (len && !at.held && !is_sign(line[len - 1]))
		at.held = '\n';
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
	if (at.held)
		put(&at.held, 1);
	printf("\n0};\nconst unsigned af_embed_%s_size = %u;\n", argv[1], size);
	free(line);
	if (ferror(in) || fclose(in) || fflush(stdout)) {
		fprintf(stderr, "embed: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	return 0;
}
