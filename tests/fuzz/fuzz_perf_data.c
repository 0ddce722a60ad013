/* perf.data of hostile bytes, as a file and from a pipe, to a trace, which must be whole. */
#include "builder_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_file {
	const uint8_t *data;
	size_t size;
	struct fuzz_bytes bytes;
};

static ssize_t file_read(void *arg, void *to, size_t size)
{
	struct fuzz_file *f = arg;

	return fuzz_read(&f->bytes, to, size);
}

static bool file_seek(void *arg, uint64_t to)
{
	struct fuzz_file *f = arg;

	if (to > f->size)
		return false;
	f->bytes.at = f->data + to;
	return true;
}

static void import(const uint8_t *data, size_t size, bool seekable)
{
	struct fuzz_file f = {data, size, {data, data + size, 1 + size / 3}};
	struct af_import_source in = {file_read, &f, seekable ? file_seek : NULL};
	struct af_builder d;
	char complaint[256] = "";

	af_builder_open(&d);
	if (size && data[size - 1] & 1)
		d.event = "cycles";
	af_import_perf(&d, &in, 0, complaint, sizeof complaint);
	fuzz_check_builder(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	import(data, size, true);
	import(data, size, false);
	return 0;
}
