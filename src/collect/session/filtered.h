/*
 * Programs that filter their own system calls (seccomp): what recording needs may end them. Those
 * that say so, before the filter comes or where they notice one, are taken over: nothing of ours
 * runs in them any more, and they are sampled from outside or by the clock of the CPU. Those that
 * have not noticed are told (struct af_session).
 */
#ifndef AF_COLLECT_SESSION_FILTERED_H
#define AF_COLLECT_SESSION_FILTERED_H

struct af_guest;
struct af_recording;

/* Each turn of the recorder: see who is to be taken over. */
void af_filtered_look(struct af_recording *r);

/* Take @g over now. */
void af_filtered_take(struct af_recording *r, struct af_guest *g);

/* This is what /proc/PID/task/TID/status says of a thread of @g's: is there a filter? */
void af_filtered_saw(struct af_recording *r, const struct af_guest *g, const char *status);

#endif
