/* Between the files of launches: what joins, and how works get on. */
#ifndef AF_ANALYSE_JOIN_LAUNCHES_PRIVATE_H
#define AF_ANALYSE_JOIN_LAUNCHES_PRIVATE_H

#include <stdint.h>

struct af_launches;
struct af_work;
struct af_world;
struct launches_call;
struct launches_device;
struct launches_table;

/* The table of a process and API; the work of that table, by index, on a device. Good until a new
 * one is made. */
struct launches_table *launches_table_of(struct af_launches *l, uint32_t process, uint32_t api);
struct launches_device *launches_device_of(struct af_launches *l, uint32_t table, uint32_t device);

/* Hand over @work of the table @t, with what is known from @call, or NULL. */
void launches_hand_over(struct af_launches *l, const struct af_world *w,
                        const struct launches_table *t, struct af_work *work,
                        struct launches_call *call);

#endif
