/* Code with rows, compiled once for each version of DWARF: see test_line_table.c. */
int LINES_NAME(int x);

int LINES_NAME(int x)
{
	int sum = 0;

	for (int i = 0; i < x; i++)
		sum += i * x;
	if (sum > 100)
		sum /= 3;
	return sum + 3;
}
