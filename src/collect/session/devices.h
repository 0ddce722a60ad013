/*
 * Samples devices from outside the program: the kernel's driver of a device hands out samples of
 * all processes, or values of its counters. A recording may have some such sources; the session
 * names none. Each writes into streams of its own in the session's shared directory, as events of
 * process 0, the recorder. One thread. In order:
 *
 *	open → begin → pump* → stop → close
 *
 * Without a source a call here does nothing.
 */
#ifndef AF_COLLECT_SESSION_DEVICES_H
#define AF_COLLECT_SESSION_DEVICES_H

struct af_recording;

enum { AF_DEVICES_MOST = 4 }; /* sources of a recording */

struct af_devices_ops {
	/* *@self may stay NULL: there is no device. What fails is a NOTE, never the recording. */
	void (*open)(void **self, struct af_recording *r);
	void (*begin)(void *self);
	void (*pump)(void *self);
	void (*stop)(void *self);
	void (*close)(void *self);
};

/* Open all of @r->options->devices. */
void af_devices_open(struct af_recording *r);

/* Begin to sample, unless the session is paused: before the program starts. */
void af_devices_begin(struct af_recording *r);

/*
 * Several times a second, when privileges have been dropped: switch sampling on and off with the
 * session's state, and write what was sampled. Nothing before _begin.
 */
void af_devices_pump(struct af_recording *r);

/* Stop sampling; everything sampled is written out, and what was found is a NOTE. */
void af_devices_stop(struct af_recording *r);
void af_devices_close(struct af_recording *r);

#endif
