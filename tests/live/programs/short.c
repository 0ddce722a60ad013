/*
 * short: a program that is over before anything can sample it.
 *
 * Truth: does nothing, prints nothing, exits 0.
 */
int main(void)
{
	return 0;
}
