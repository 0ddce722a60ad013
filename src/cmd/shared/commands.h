/* The commands, each defined at the foot of the file of its name. */
#ifndef AF_CMD_SHARED_COMMANDS_H
#define AF_CMD_SHARED_COMMANDS_H

#include "cmd/options/command.h"

extern const struct af_command af_command_annotate;
extern const struct af_command af_command_api;
extern const struct af_command af_command_compare_scale;
extern const struct af_command af_command_diff;
extern const struct af_command af_command_doctor;
extern const struct af_command af_command_export;
extern const struct af_command af_command_finish;
extern const struct af_command af_command_flame;
extern const struct af_command af_command_flamescope;
extern const struct af_command af_command_gather;
extern const struct af_command af_command_help;
extern const struct af_command af_command_import;
extern const struct af_command af_command_open;
extern const struct af_command af_command_print;
extern const struct af_command af_command_prof;
extern const struct af_command af_command_record;
extern const struct af_command af_command_report;
extern const struct af_command af_command_run;
extern const struct af_command af_command_serve;
extern const struct af_command af_command_tally;
extern const struct af_command af_command_timeline;
extern const struct af_command af_command_tui;
extern const struct af_command af_command_version;

/* The command called @name; NULL with a message that names the nearest one. */
const struct af_command *af_command_find(const char *name, struct af_err *err);

#endif
