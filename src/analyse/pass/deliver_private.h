/* Shared by the files of deliver. Functions with "the lock held" may release it meanwhile. */
#ifndef AF_ANALYSE_PASS_DELIVER_PRIVATE_H
#define AF_ANALYSE_PASS_DELIVER_PRIVATE_H

#include "analyse/pass/deliver.h"

/* Start the threads, unless that was done. Of the reader's thread alone, without the lock. */
void deliver_start(struct deliver *d);

/* Do something that is to be done, or wait until another thread has done something. */
void deliver_help_or_wait(struct deliver *d);

/* Is another batch of events to be read now, or, if @soon, before anything else? With the lock. */
bool deliver_events_wanted(const struct deliver *d, bool soon);

/* Read it, where that is so. With the lock held. */
void deliver_events_read(struct deliver *d);

#endif
