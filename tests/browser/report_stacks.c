#include "report_stacks.h"

#include <string.h>

uint32_t report_node(struct af_tree *t, const char *stack, const char *module)
{
	static const char letters[] = "npkijGgPm"; /* in order of enum af_frame */
	uint32_t node = 0;

	while (*stack) {
		size_t len = strcspn(stack, ";");
		const char *kind = strchr(letters, stack[0]);
		const struct af_location location = {.module = *kind == 'n' ? module : NULL};
		uint32_t name = af_tree_name_at(t, stack + 2, len - 2,
		                                (enum af_frame)(kind - letters), &location);
		node = af_tree_child(t, node, name);
		stack += len + (stack[len] == ';');
	}
	return node;
}

void report_add(struct af_tree *t, const char *stack, uint64_t first, uint64_t second)
{
	uint32_t node = report_node(t, stack, REPORT_MODULE);

	af_tree_add(t, node, 0, first);
	af_tree_add(t, node, 1, second);
}

uint64_t report_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

double report_unit(uint64_t *state)
{
	return (double)(report_random(state) >> 11) / 9007199254740992.0;
}
