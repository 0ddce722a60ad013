// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for Linux's xe driver, for tests in a virtual machine: no GPU is behind it. It bears
 * the driver's name, offers its ioctls with their numbers, structures and refusals, and has
 * functions of its names for programs of BPF to attach to. Source: Linux 6.15,
 * drivers/gpu/drm/xe/xe_query.c, xe_observation.c, xe_exec.c, xe_exec_queue.c, xe_vm.c, xe_bo.c.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/uaccess.h>

#include "xe_standin.h"

unsigned int standin_graphics = 2001;
module_param_named(graphics, standin_graphics, uint, 0444);

static struct standin_card *card_of(struct drm_device *drm)
{
	return container_of(drm, struct standin_card, drm);
}

/* Answers a query as the driver does: the size first, then bytes of exactly that size. */
static int answer(struct drm_xe_device_query *q, const void *bytes, u32 size)
{
	if (!q->size) {
		q->size = size;
		return 0;
	}
	if (q->size != size)
		return -EINVAL;
	return copy_to_user(u64_to_user_ptr(q->data), bytes, size) ? -EFAULT : 0;
}

static int query_config(struct drm_xe_device_query *q)
{
	const struct drm_xe_query_config config = {
	    .num_params = 5,
	    .info = {standin_graphics == 1260 ? 0x2f0bd5 : 0x04e20b, 1, 65536, 48, 2},
	};

	return answer(q, &config, sizeof(config));
}

static int query_gts(struct drm_xe_device_query *q)
{
	struct drm_xe_query_gt_list list = {.num_gt = STANDIN_GTS};
	u32 i;

	/* Two tiles of Ponte Vecchio; a main and a media GT of what came later. */
	for (i = 0; i < STANDIN_GTS; i++) {
		struct drm_xe_gt *gt = &list.gt_list[i];
		bool media = i && standin_graphics != 1260;

		gt->type = media;
		gt->tile_id = media ? 0 : i;
		gt->gt_id = i;
		gt->reference_clock = 19200000;
		gt->near_mem_regions = 2;
		gt->far_mem_regions = 1;
		gt->ip_ver_major = media ? 13 : standin_graphics / 100;
		gt->ip_ver_minor = media ? 1 : standin_graphics % 100;
	}
	return answer(q, &list, sizeof(list));
}

/* Which XeCores there are: those that have pipelines of geometry, and those that compute. */
static int query_topology(const struct standin_card *card, struct drm_xe_device_query *q)
{
	struct drm_xe_query_topology_mask masks[2 * STANDIN_GTS] = {};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		masks[i].gt_id = i / 2;
		masks[i].type = i % 2 ? XE_TOPOLOGY_COMPUTE : XE_TOPOLOGY_GEOMETRY;
		masks[i].num_bytes = sizeof(masks[i].mask);
		masks[i].mask[0] = (1 << card->gts[i / 2].nr_xecores) - 1;
	}
	return answer(q, masks, sizeof(masks));
}

static int query_stalls(struct drm_xe_device_query *q)
{
	const struct drm_xe_query_eu_stall stalls = {
	    .capabilities = 1,
	    .record_size = XE_ROW,
	    .per_xecore_buf_size = STANDIN_XECORE_BYTES,
	    .num_sampling_rates = 7,
	    .sampling_rates = {251, 502, 753, 1004, 1255, 1506, 1757},
	};

	if (!standin_observable())
		return -ENODEV;
	return answer(q, &stalls, sizeof(stalls));
}

/* The names below are the driver's. They are called through the table of ioctls only. */

int xe_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int xe_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_xe_device_query *q = data;

	if (q->extensions || q->reserved[0] || q->reserved[1])
		return -EINVAL;
	switch (q->query) {
	case XE_QUERY_CONFIG:
		return query_config(q);
	case XE_QUERY_GT_LIST:
		return query_gts(q);
	case XE_QUERY_GT_TOPOLOGY:
		return query_topology(card_of(drm), q);
	case XE_QUERY_EU_STALL:
		return query_stalls(q);
	default:
		return -EINVAL;
	}
}

int xe_observation_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int xe_observation_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_xe_observation_param *p = data;

	/* Counters of the OA unit are none of the stand-in's. */
	if (p->extensions || p->observation_type != XE_OBSERVE_EU_STALL || p->observation_op)
		return -EINVAL;
	return standin_observation(card_of(drm), p);
}

int xe_gem_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int xe_gem_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_xe_gem_mmap_offset *arg = data;

	if (arg->extensions || arg->flags || arg->reserved[0] || arg->reserved[1])
		return -EINVAL;
	return standin_buffer_offset(file, arg);
}

int xe_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int xe_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_xe_gem_create *arg = data;

	if (arg->flags || arg->handle || arg->reserved[0] || arg->reserved[1])
		return -EINVAL;
	return standin_buffer_create(drm, file, arg);
}

int xe_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int xe_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_xe_vm_bind *arg = data;

	if (arg->extensions || arg->pad || arg->pad2 || arg->reserved[0] || arg->reserved[1])
		return -EINVAL;
	if (!arg->num_binds)
		return -EINVAL;
	return arg->vm_id ? 0 : -ENOENT;
}

int xe_exec_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int xe_exec_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_xe_exec_queue_create *arg = data;

	if (arg->flags || arg->reserved[0] || arg->reserved[1])
		return -EINVAL;
	if (!arg->width || !arg->num_placements)
		return -EINVAL;
	return standin_queue_create(file, arg);
}

int xe_exec_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int xe_exec_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_xe_exec *arg = data;

	if (arg->extensions || arg->pad[0] || arg->pad[1] || arg->pad[2] || arg->reserved[0] ||
	    arg->reserved[1])
		return -EINVAL;
	return standin_exec(file, arg);
}

#define STANDIN_IOCTL(cmd_, func_)                                                                 \
	[_IOC_NR(cmd_) - DRM_COMMAND_BASE] = {                                                     \
	    .cmd = cmd_, .func = func_, .flags = DRM_RENDER_ALLOW, .name = #cmd_}

static const struct drm_ioctl_desc ioctls[] = {
    STANDIN_IOCTL(XE_IOCTL_QUERY, xe_query_ioctl),
    STANDIN_IOCTL(XE_IOCTL_GEM_CREATE, xe_gem_create_ioctl),
    STANDIN_IOCTL(XE_IOCTL_MMAP_OFFSET, xe_gem_mmap_offset_ioctl),
    STANDIN_IOCTL(XE_IOCTL_VM_BIND, xe_vm_bind_ioctl),
    STANDIN_IOCTL(XE_IOCTL_QUEUE_CREATE, xe_exec_queue_create_ioctl),
    STANDIN_IOCTL(XE_IOCTL_EXEC, xe_exec_ioctl),
    STANDIN_IOCTL(XE_IOCTL_OBSERVATION, xe_observation_ioctl),
};

DEFINE_DRM_GEM_FOPS(standin_fops);

static const struct drm_driver driver = {
    .driver_features = DRIVER_GEM | DRIVER_RENDER,
    .open = standin_file_open,
    .postclose = standin_file_close,
    .fops = &standin_fops,
    .ioctls = ioctls,
    .num_ioctls = ARRAY_SIZE(ioctls),
    .name = "xe",
    .desc = "stand-in for xe: no GPU is behind it",
    .date = "20260101",
    .major = 1,
    .minor = 1,
};

static int standin_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct standin_card *card;
	int err;

	card = devm_drm_dev_alloc(&pci->dev, &driver, struct standin_card, drm);
	if (IS_ERR(card))
		return PTR_ERR(card);
	pci_set_drvdata(pci, card);
	card->xe.info.graphics_verx100 = standin_graphics;
	err = standin_work_init(card);
	if (err)
		return err;
	err = standin_stall_init(card);
	if (err)
		goto no_stalls;
	err = drm_dev_register(&card->drm, 0);
	if (err)
		goto no_device;
	return 0;
no_device:
	standin_stall_exit(card);
no_stalls:
	standin_work_exit(card);
	return err;
}

static void standin_remove(struct pci_dev *pci)
{
	struct standin_card *card = pci_get_drvdata(pci);

	drm_dev_unregister(&card->drm);
	standin_stall_exit(card);
	standin_work_exit(card);
}

/* QEMU's pci-testdev. */
static const struct pci_device_id ids[] = {{PCI_DEVICE(0x1b36, 0x0005)}, {}};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver pci_driver = {
    .name = "xe",
    .id_table = ids,
    .probe = standin_probe,
    .remove = standin_remove,
};

static int __init standin_init(void)
{
	int err = standin_sysctl_init();

	if (err)
		return err;
	err = pci_register_driver(&pci_driver);
	if (err)
		standin_sysctl_exit();
	return err;
}

static void __exit standin_exit(void)
{
	pci_unregister_driver(&pci_driver);
	standin_sysctl_exit();
}

module_init(standin_init);
module_exit(standin_exit);
MODULE_DESCRIPTION("stand-in for Intel's xe, for tests: no GPU is behind it");
MODULE_LICENSE("GPL");
