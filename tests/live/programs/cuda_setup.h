/*
 * The CUDA live programs share this: a device with a context and the kernels k1 to k4, each of
 * which spins on one thread for as many nanoseconds as its only parameter says, and the truth that
 * a program prints.
 *
 *	cuda_open(&c, 0); cuda_launch(c.k[0], stream, 1000); cuda_truth(...); cuda_close(&c);
 *
 * Every program prints the truth about itself as one line of JSON on standard output, before it
 * ends: cuda_truth_*() in any order, then cuda_truth_print().
 */
#ifndef AF_LIVE_CUDA_SETUP_H
#define AF_LIVE_CUDA_SETUP_H

#include "cuda_driver.h"

enum { CUDA_KERNELS = 4 };

struct cuda {
	int device;
	struct CUctx_st *context;
	struct CUmod_st *module;
	struct CUfunc_st *k[CUDA_KERNELS]; /* k1 is k[0] */
};

/* The PTX text of the kernels. */
extern const char cuda_kernels[];

/*
 * Ends the program when @rc is an error; @what names the call. Exits 77 where there is no device.
 */
void cuda_check(int rc, const char *what);
#define CUDA_CHECK(call) cuda_check((call), #call)

/* Initialises CUDA, makes a context on device number @device and loads the kernels. */
void cuda_open(struct cuda *cuda, int device);
void cuda_close(struct cuda *cuda);

/* How many devices there are. After cuInit. */
int cuda_nr_devices(void);

/* Launches one block of one thread that takes @ns. */
void cuda_launch(struct CUfunc_st *kernel, struct CUstream_st *stream, uint64_t ns);

/* A stream that does not wait for the default one. */
struct CUstream_st *cuda_stream(void);

/* Adds @number to what is true of @key. */
void cuda_truth(const char *key, uint64_t number);
void cuda_truth_print(void);

/* The number in argument @index, or @otherwise. */
uint64_t cuda_number(int argc, char **argv, int index, uint64_t otherwise);

#endif
