/* The one screen that ends `aflame run` and `aflame record`: the verdict, findings, the cost. */
#ifndef AF_CMD_SHARED_SCREEN_H
#define AF_CMD_SHARED_SCREEN_H

struct af_err;
struct af_results;

/*
 * Print the screen for @r, which answers AF_ANSWER_TABLES and AF_ANSWER_STEADY, to standard
 * error, as standard output is the program's: what ran and how it ended, what held it back, the
 * first three findings, how much of it was recorded, and what that cost. Of a run that repeats
 * itself the verdict and the findings are those of its steady part, and the whole run's first
 * finding follows. Texts made for it belong to the tables of @r.
 */
void af_screen_print(struct af_results *r);

/* The same for the trace in @dir, which its commands call @shown. 0, or the error of reading it. */
int af_screen_show(const char *dir, const char *shown, struct af_err *err);

#endif
