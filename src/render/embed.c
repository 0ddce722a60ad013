/*
 * Build step, not part of aflame: turns a file into a C array, so that scripts and style sheets
 * are written as what they are and still travel inside the program.
 *
 *	embed NAME FILE > out.c	→ const unsigned char af_embed_NAME[]; const unsigned
 *af_embed_NAME_size;
 *
 * The array ends with a zero byte that the size does not count. Readers use AF_EMBED (embed.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: embed NAME FILE\n");
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
	unsigned size = 0;
	for (int c; (c = getc(in)) != EOF; size++)
		printf("%s%d,", size % 24 ? "" : "\n", c);
	printf("\n0};\nconst unsigned af_embed_%s_size = %u;\n", argv[1], size);
	if (ferror(in) || fclose(in) || fflush(stdout)) {
		fprintf(stderr, "embed: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	return 0;
}
