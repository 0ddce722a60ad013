/*
 * Groups the weight of a tree by track: processes, ranks, threads, devices or streams, as a table.
 */
#ifndef AF_ANALYSE_TREE_BY_TRACK_H
#define AF_ANALYSE_TREE_BY_TRACK_H

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"

/*
 * The kind of track called @word: process, rank, thread, device, stream; AF_LOCATION_CODE for
 * others and NULL.
 */
enum af_location_what af_by_track_what(const char *word);

/*
 * Add the table "WORD_top" to @f, the heaviest first, for a tree with locations whose stacks begin
 * with their tracks (AF_GROUP_TRACK). A rank is one row, however many processes it has. Weight
 * without a track is a row too, so that all rows together are the tree's total.
 */
void af_by_track_table(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                       const char *word);

/* "Thread", for people: the title of a column of the tracks called @word. */
const char *af_by_track_title(const char *word);

/*
 * The track called @word whose frame is @node, 0: none. Lives as long as @f, like the texts of
 * af_by_track_table().
 */
const char *af_by_track_text(struct af_tables *f, const struct af_tree *t, uint32_t node,
                             const char *word);

#endif
