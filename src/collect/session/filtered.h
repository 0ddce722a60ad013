/*
 * Programs that filter their own system calls (seccomp): a call that recording needs may end them.
 * The recorder takes over those that report it, before the filter comes or when they notice one:
 * nothing of ours runs in them any more, and they are sampled from outside or by the CPU clocks.
 * The recorder notifies those that have not noticed (struct af_session).
 */
#ifndef AF_COLLECT_SESSION_FILTERED_H
#define AF_COLLECT_SESSION_FILTERED_H

struct af_client;
struct af_recording;

/* On each turn of the recorder: find the processes to take over. */
void af_filtered_poll(struct af_recording *r);

/* Take @g over now. */
void af_filtered_take(struct af_recording *r, struct af_client *g);

/*
 * @status is the text of /proc/PID/task/TID/status of a thread of @g: handle a filter, if it has
 * one.
 */
void af_filtered_saw(struct af_recording *r, const struct af_client *g, const char *status);

#endif
