#include "sym/code_object.h"
void code_read_full(struct af_code *c)
{
	(void)c;
}
