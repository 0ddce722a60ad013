/*
 * Before a program is recorded: is this rank of a job recorded at all? And the facts about the
 * recording that its trace begins with.
 */
#ifndef AF_CMD_RECORD_BEGIN_H
#define AF_CMD_RECORD_BEGIN_H

struct af_err;
struct af_record_options;
struct af_recorded;
struct af_recording;

/*
 * Fill done->job and done->launch. A rank that --ranks, --hosts or --every leaves out becomes the
 * program @words, without a word, and this does not return. 0; -EINVAL: an option makes no sense;
 * else -errno: the program cannot be recorded. With a message.
 */
int af_begin_rank(const struct af_record_options *o, char **words, struct af_recorded *done,
                  struct af_err *err);

/*
 * Write the NOTEs about the recording. @sampler: the words of af_choose_sampler(). A file of groups
 * that makes no sense costs the groups, and a line on standard error says so.
 */
void af_begin_notes(struct af_recording *r, const struct af_record_options *o,
                    const struct af_recorded *done, const char *sampler, int nr_words,
                    char **words);

#endif
