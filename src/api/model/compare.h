/* The differences of two models: functions, values of enumerations, structs, other types. */
#ifndef AF_API_MODEL_COMPARE_H
#define AF_API_MODEL_COMPARE_H

struct af_model;

struct af_model_change {
	const char *what;   /* "function", "value", "struct", "type" */
	const char *name;   /* of the function or type; TYPE.NAME of a value */
	const char *before; /* its text; NULL: it was added */
	const char *after;  /* NULL: it was dropped */
};

/* Valid while it runs. */
typedef void af_model_changed(const struct af_model_change *change, void *arg);

/*
 * Calls @changed for each difference, functions first, in the order of @after; what was dropped
 * comes behind. Numbers and the order of parts make no difference.
 */
void af_model_compare(const struct af_model *before, const struct af_model *after,
                      af_model_changed *changed, void *arg);

#endif
