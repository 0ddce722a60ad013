// SPDX-License-Identifier: GPL-2.0
/*
 * Streams of stalls as Linux's xe gives them: how they are opened, refused, waited for and read.
 * Rows come from a test, by /sys/kernel/debug/xe_standin/PCI/gtN/rows; they wait until somebody
 * observes the GT. Source: Linux 6.15, drivers/gpu/drm/xe/xe_eu_stall.c and xe_observation.c.
 */
#include <drm/drm_drv.h>
#include <linux/anon_inodes.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "xe_standin.h"

enum { POLL_PERIOD_MS = 5, EXTENSIONS_MAX = 5 };

static unsigned int paranoid = 1;
static struct ctl_table_header *sysctl_header;
static struct dentry *debug_root;

bool standin_observable(void)
{
	return standin_graphics == 1260 || standin_graphics >= 2000;
}

struct stall_properties {
	u64 rate;
	u32 wait_rows;
	struct standin_gt *gt;
};

static int property_set(struct standin_card *card, struct stall_properties *to,
                        const struct drm_xe_ext_set_property *p)
{
	switch (p->property) {
	case XE_STALL_RATE:
		to->rate = p->value / 251;
		return to->rate == 0 || to->rate > 7 ? -EINVAL : 0;
	case XE_STALL_WAIT:
		to->wait_rows = p->value;
		return 0;
	case XE_STALL_GT:
		if (p->value >= STANDIN_GTS)
			return -EINVAL;
		to->gt = &card->gts[p->value];
		return 0;
	default:
		return -EINVAL;
	}
}

static int properties_take(struct standin_card *card, struct stall_properties *to, u64 at)
{
	struct drm_xe_ext_set_property p;
	int i, err;

	for (i = 0; i == 0 || at; i++) {
		if (i == EXTENSIONS_MAX)
			return -E2BIG;
		if (copy_from_user(&p.base, u64_to_user_ptr(at), sizeof(p.base)))
			return -EFAULT;
		if (p.base.pad || p.base.name)
			return -EINVAL;
		if (copy_from_user(&p, u64_to_user_ptr(at), sizeof(p)))
			return -EFAULT;
		if (p.pad)
			return -EINVAL;
		err = property_set(card, to, &p);
		if (err)
			return err;
		at = p.base.next_extension;
	}
	return 0;
}

static void poll_work(struct work_struct *work)
{
	struct standin_gt *gt = container_of(work, struct standin_gt, poll.work);

	mutex_lock(&gt->lock);
	gt->pollin = gt->reset || gt->added - gt->taken >= gt->wait_rows;
	if (gt->pollin)
		wake_up(&gt->wait);
	if (!gt->reset && gt->enabled)
		schedule_delayed_work(&gt->poll, msecs_to_jiffies(POLL_PERIOD_MS));
	mutex_unlock(&gt->lock);
}

static ssize_t rows_copy(struct standin_gt *gt, char __user *to, u64 nr)
{
	u64 i;

	nr = min(nr, gt->added - gt->taken);
	for (i = 0; i < nr; i++) {
		const u8 *row = gt->rows + (gt->taken + i) % STANDIN_ROWS * XE_ROW;

		if (copy_to_user(to + i * XE_ROW, row, XE_ROW))
			return -EFAULT;
	}
	gt->taken += nr;
	return nr ? (ssize_t)nr * XE_ROW : -EAGAIN;
}

static ssize_t read_locked(struct standin_gt *gt, char __user *to, size_t count)
{
	if (gt->reset)
		return -ENODEV;
	if (gt->dropped) {
		if (!gt->reported_drop) {
			gt->reported_drop = true;
			return -EIO;
		}
		gt->reported_drop = false;
		gt->dropped = false;
	}
	return rows_copy(gt, to, count / XE_ROW);
}

static ssize_t stalls_read(struct file *file, char __user *to, size_t count, loff_t *at)
{
	struct standin_gt *gt = file->private_data;
	ssize_t got;

	if (count < XE_ROW || !gt->enabled)
		return -EINVAL;
	do {
		if (!(file->f_flags & O_NONBLOCK) && wait_event_interruptible(gt->wait, gt->pollin))
			return -EINTR;
		mutex_lock(&gt->lock);
		got = read_locked(gt, to, count);
		mutex_unlock(&gt->lock);
	} while (got == -EAGAIN && !(file->f_flags & O_NONBLOCK));
	if (!gt->reset)
		gt->pollin = false;
	return got;
}

static __poll_t stalls_poll(struct file *file, poll_table *wait)
{
	struct standin_gt *gt = file->private_data;

	poll_wait(file, &gt->wait, wait);
	return gt->pollin ? EPOLLIN : 0;
}

static void stalls_disable(struct standin_gt *gt)
{
	mutex_lock(&gt->lock);
	gt->enabled = false;
	mutex_unlock(&gt->lock);
	cancel_delayed_work_sync(&gt->poll);
}

static long stalls_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct standin_gt *gt = file->private_data;

	if (cmd == XE_IOCTL_DISABLE) {
		stalls_disable(gt);
		return 0;
	}
	if (cmd != XE_IOCTL_ENABLE)
		return -EINVAL;
	mutex_lock(&gt->lock);
	if (!gt->enabled) {
		gt->enabled = true;
		gt->reset = gt->dropped = gt->reported_drop = false;
		schedule_delayed_work(&gt->poll, msecs_to_jiffies(POLL_PERIOD_MS));
	}
	mutex_unlock(&gt->lock);
	return 0;
}

static int stalls_release(struct inode *inode, struct file *file)
{
	struct standin_gt *gt = file->private_data;

	stalls_disable(gt);
	mutex_lock(&gt->lock);
	gt->open = gt->pollin = false;
	mutex_unlock(&gt->lock);
	drm_dev_put(&gt->card->drm);
	return 0;
}

static const struct file_operations stalls_fops = {
    .owner = THIS_MODULE,
    .llseek = noop_llseek,
    .release = stalls_release,
    .poll = stalls_poll,
    .read = stalls_read,
    .unlocked_ioctl = stalls_ioctl,
    .compat_ioctl = stalls_ioctl,
};

static int stalls_open(const struct stall_properties *p)
{
	struct standin_gt *gt = p->gt;
	int fd;

	if (gt->open)
		return -EBUSY;
	/* A media GT has no XeCores, and the driver refuses it here. */
	if (!p->wait_rows || p->wait_rows > gt->nr_xecores * (STANDIN_XECORE_BYTES / XE_ROW))
		return -EINVAL;
	fd = anon_inode_getfd("[xe_eu_stall]", &stalls_fops, gt, 0);
	if (fd < 0)
		return fd;
	drm_dev_get(&gt->card->drm);
	gt->open = true;
	gt->opened++;
	gt->rate = p->rate * 251;
	gt->wait_rows = p->wait_rows;
	return fd;
}

int standin_observation(struct standin_card *card, const struct drm_xe_observation_param *param)
{
	struct stall_properties p = {.rate = 4, .wait_rows = 1};
	int err;

	if (!standin_observable())
		return -ENODEV;
	if (paranoid && !perfmon_capable())
		return -EACCES;
	err = properties_take(card, &p, param->param);
	if (err)
		return err;
	if (!p.gt)
		return -EINVAL;
	mutex_lock(&p.gt->lock);
	err = stalls_open(&p);
	mutex_unlock(&p.gt->lock);
	return err;
}

/* Rows that a test writes. Whole rows only; what finds no room is refused. */
static ssize_t rows_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	struct standin_gt *gt = file->private_data;
	u64 i, nr = count / XE_ROW;
	ssize_t result = count;

	if (!nr || count % XE_ROW)
		return -EINVAL;
	mutex_lock(&gt->lock);
	nr = min(nr, STANDIN_ROWS - (gt->added - gt->taken));
	result = nr ? (ssize_t)nr * XE_ROW : -ENOSPC;
	for (i = 0; i < nr; i++) {
		u8 *row = gt->rows + (gt->added + i) % STANDIN_ROWS * XE_ROW;

		if (copy_from_user(row, from + i * XE_ROW, XE_ROW)) {
			result = -EFAULT;
			nr = 0;
		}
	}
	gt->added += nr;
	mutex_unlock(&gt->lock);
	return result;
}

/*
 * "drop": the oldest half of the rows that wait is lost, as when the hardware's buffer is full.
 * "reset": the stream is dead.
 */
static ssize_t event_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	struct standin_gt *gt = file->private_data;
	char word[16] = "";
	ssize_t result = count;
	u64 nr;

	if (count >= sizeof(word) || copy_from_user(word, from, count))
		return -EINVAL;
	mutex_lock(&gt->lock);
	if (sysfs_streq(word, "drop")) {
		nr = (gt->added - gt->taken) / 2;
		gt->taken += nr;
		gt->lost += nr;
		gt->dropped = true;
	} else if (sysfs_streq(word, "reset")) {
		gt->reset = true;
	} else {
		result = -EINVAL;
	}
	mutex_unlock(&gt->lock);
	return result;
}

static int state_show(struct seq_file *to, void *data)
{
	const struct standin_gt *gt = to->private;

	seq_printf(to, "open %d\nenabled %d\nopened %llu\nrate %llu\nwait %llu\n", gt->open,
	           gt->enabled, gt->opened, gt->rate, gt->wait_rows);
	seq_printf(to, "added %llu\ntaken %llu\nlost %llu\n", gt->added, gt->taken, gt->lost);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static const struct file_operations rows_fops = {
    .owner = THIS_MODULE,
    .open = simple_open,
    .write = rows_write,
};
static const struct file_operations event_fops = {
    .owner = THIS_MODULE,
    .open = simple_open,
    .write = event_write,
};

int standin_stall_init(struct standin_card *card)
{
	u32 i;

	card->debug = debugfs_create_dir(dev_name(card->drm.dev), debug_root);
	for (i = 0; i < STANDIN_GTS; i++) {
		struct standin_gt *gt = &card->gts[i];
		const char *name = i ? "gt1" : "gt0";
		struct dentry *at = debugfs_create_dir(name, card->debug);

		gt->card = card;
		gt->id = i;
		gt->nr_xecores = i && standin_graphics != 1260 ? 0 : STANDIN_XECORES;
		mutex_init(&gt->lock);
		init_waitqueue_head(&gt->wait);
		INIT_DELAYED_WORK(&gt->poll, poll_work);
		gt->rows = vzalloc(STANDIN_ROWS * XE_ROW);
		if (!gt->rows) {
			standin_stall_exit(card);
			return -ENOMEM;
		}
		debugfs_create_file("rows", 0200, at, gt, &rows_fops);
		debugfs_create_file("event", 0200, at, gt, &event_fops);
		debugfs_create_file("state", 0400, at, gt, &state_fops);
	}
	return 0;
}

void standin_stall_exit(struct standin_card *card)
{
	u32 i;

	debugfs_remove_recursive(card->debug);
	for (i = 0; i < STANDIN_GTS; i++)
		vfree(card->gts[i].rows);
}

static struct ctl_table sysctls[] = {
    {
	.procname = "observation_paranoid",
	.data = &paranoid,
	.maxlen = sizeof(paranoid),
	.mode = 0644,
	.proc_handler = proc_dointvec_minmax,
	.extra1 = SYSCTL_ZERO,
	.extra2 = SYSCTL_ONE,
    },
    {},
};

int standin_sysctl_init(void)
{
	sysctl_header = register_sysctl("dev/xe", sysctls);
	if (!sysctl_header)
		return -ENOMEM;
	debug_root = debugfs_create_dir("xe_standin", NULL);
	return 0;
}

void standin_sysctl_exit(void)
{
	debugfs_remove_recursive(debug_root);
	unregister_sysctl_table(sysctl_header);
}
