#include "collect/session/watcher.h"

#include <string.h>

#include "collect/session/devices.h"
#include "collect/session/session.h"

/* One function of the watcher, or what stands for it where there is none. */
#define WATCHER(r, function, none, ...)                                                            \
	((r)->watching && (r)->options->watcher->function                                          \
	     ? (r)->options->watcher->function((r)->watching, ##__VA_ARGS__)                       \
	     : (none))

int af_watcher_open(struct af_recording *r, struct af_err *err)
{
	const struct af_watcher_ops *watcher = r->options->watcher;

	return watcher ? watcher->open(&r->watching, r, err) : 0;
}

void af_watcher_adopt(struct af_recording *r, bool on)
{
	WATCHER(r, adopt, (void)0, on);
}

void af_watcher_drop_rights(struct af_recording *r)
{
	WATCHER(r, drop_rights, (void)0);
}

bool af_watcher_wanted(struct af_recording *r, const char *program)
{
	return WATCHER(r, wanted, false, program);
}

void af_watcher_run(struct af_recording *r, int pid)
{
	WATCHER(r, run, (void)0, pid);
}

void af_watcher_admit(struct af_recording *r, const struct af_client *g)
{
	WATCHER(r, admit, (void)0, g);
}

bool af_watcher_take(struct af_recording *r, struct af_client *g)
{
	return WATCHER(r, take, false, g);
}

bool af_watcher_can_hold(const struct af_recording *r)
{
	return r->watching && r->options->watcher->hold;
}

bool af_watcher_hold(struct af_recording *r, const struct af_client *g)
{
	return WATCHER(r, hold, false, g);
}

void af_watcher_resume(struct af_recording *r, const struct af_client *g)
{
	WATCHER(r, resume, (void)0, g);
}

void af_watcher_see_calls(struct af_recording *r, const struct af_client *g)
{
	WATCHER(r, see_calls, (void)0, g);
}

int af_watcher_fd(struct af_recording *r)
{
	return WATCHER(r, fd, -1);
}

void af_watcher_pump(struct af_recording *r)
{
	WATCHER(r, pump, (void)0);
}

bool af_watcher_is_busy(struct af_recording *r)
{
	return WATCHER(r, is_busy, false);
}

uint32_t af_watcher_process_of(struct af_recording *r, int pid)
{
	return WATCHER(r, process_of, 0, pid);
}

uint32_t af_watcher_nr_alive(struct af_recording *r)
{
	return WATCHER(r, nr_alive, 0);
}

void af_watcher_stop(struct af_recording *r)
{
	WATCHER(r, stop, (void)0);
}

void af_watcher_close(struct af_recording *r)
{
	WATCHER(r, close, (void)0);
	r->watching = NULL;
}

void af_devices_open(struct af_recording *r)
{
	for (int i = 0; i < AF_DEVICES_MOST && r->options->devices[i]; i++)
		r->options->devices[i]->open(&r->sampling[i], r);
}

/* Call @function of all that are open. */
#define DEVICES(r, function)                                                                       \
	do {                                                                                       \
		for (int i = 0; i < AF_DEVICES_MOST; i++)                                          \
			if ((r)->sampling[i])                                                      \
				(r)->options->devices[i]->function((r)->sampling[i]);              \
	} while (0)

void af_devices_begin(struct af_recording *r)
{
	DEVICES(r, begin);
}

void af_devices_pump(struct af_recording *r)
{
	DEVICES(r, pump);
}

void af_devices_stop(struct af_recording *r)
{
	DEVICES(r, stop);
}

void af_devices_close(struct af_recording *r)
{
	DEVICES(r, close);
	memset(r->sampling, 0, sizeof r->sampling);
}
