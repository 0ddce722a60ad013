/* Level Zero for the programs ze_*: one device, and objects on it. Errors end the program. */
#ifndef AF_ZE_SETUP_H
#define AF_ZE_SETUP_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>

extern ze_driver_handle_t ze_driver;
extern ze_device_handle_t ze_device;
extern ze_context_handle_t ze_context;

/* Ends the program, with the text, where @rc is an error. */
void ze_ok(ze_result_t rc, const char *text);
#define OK(call) ze_ok((call), #call)

/* zeInit, the first device, a context. */
void ze_start(void);

/* The module in the file @path: SPIR-V, or what the mock takes. */
ze_module_handle_t ze_module(ze_context_handle_t context, const char *path);
ze_module_handle_t ze_module_of(ze_context_handle_t context, const void *data, size_t size);

/* A kernel that takes @ns, on the mock. */
ze_kernel_handle_t ze_kernel(ze_module_handle_t module, const char *name, uint64_t ns);
void ze_takes(ze_kernel_handle_t kernel, uint64_t ns);

ze_command_list_handle_t ze_immediate(ze_context_handle_t context, ze_command_queue_mode_t mode);
ze_command_list_handle_t ze_deferred(ze_context_handle_t context);
ze_command_queue_handle_t ze_queue(ze_context_handle_t context);

/* Events of a pool of @nr, without stamps. */
void ze_events(ze_context_handle_t context, uint32_t nr, ze_event_handle_t *events);

/* Wait for all that was appended to @list, or a moment where the device never does it. */
void ze_wait(ze_command_list_handle_t list, ze_event_handle_t event);

#endif
