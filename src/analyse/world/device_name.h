/*
 * The names of devices and processes in tables.
 */
#ifndef AF_ANALYSE_WORLD_DEVICE_NAME_H
#define AF_ANALYSE_WORLD_DEVICE_NAME_H

#include <stdint.h>

struct af_tables;
struct af_world;

/*
 * The name of the device with number @id in @process, with that number when several devices of the
 * process have the name: "NVIDIA H200 #2". Lives as long as the facts.
 */
const char *af_device_name(struct af_tables *f, const struct af_world *w, uint32_t process,
                           uint32_t id);

/* "train [101]": a process's name and pid; "" where it is not known. Lives as long as the facts. */
const char *af_process_label(struct af_tables *f, const struct af_world *w, uint32_t process);

#endif
