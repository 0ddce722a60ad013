/* aflame api: what its parts share. */
#ifndef AF_CMD_API_API_H
#define AF_CMD_API_API_H

#include "api/model/model.h"
#include "cmd/options/command.h"
#include "cmd/output/atomic_write.h"

struct af_err;

struct af_api_options {
	struct af_output output;
	struct af_strings folders, macros, enums, flags, numbers;
	const char *functions, *types, *leave, *title, *version, *onto, *model;
	uint64_t kind;
	bool json;
};

/* Read the headers @files by the options, to a model called @name without title and kind. */
int af_api_headers(const struct af_api_options *o, const char *name, uint32_t nr, char **files,
                   struct af_model *m, struct af_err *err);

/* A model inside the program, where it can read headers. */
struct af_api_model {
	const char *name; /* NULL ends them */
	const unsigned char *text;
	const unsigned *len;
};

extern const struct af_api_model af_api_models[];

/* `aflame api diff NAME [HEADER…]`: 1 where the headers differ from the model, 0 where not. */
int af_api_diff(const struct af_api_options *o, const struct af_command *cmd, const char *name,
                uint32_t nr, char **files, struct af_err *err);

/*
 * `aflame api list [NAME|PATTERN…]`: the APIs that are traced, or functions of them, on standard
 * output.
 */
int af_api_list(const struct af_api_options *o, uint32_t nr, char **patterns, struct af_err *err);

#endif
