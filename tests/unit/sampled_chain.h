/* Functions to be sampled: sampled_chain.c, compiled in several ways. */
#ifndef AF_TESTS_SAMPLED_CHAIN_H
#define AF_TESTS_SAMPLED_CHAIN_H

enum { SAMPLED_LEAF, SAMPLED_MID, SAMPLED_TOP, SAMPLED_PARTS };

struct sampled_chain {
	const char *name;
	unsigned (*run)(unsigned n);
	struct {
		const char *start, *stop;
	} parts[SAMPLED_PARTS];
};

extern const struct sampled_chain chain_O0_fp, chain_O0_nofp, chain_O2_fp, chain_O2_nofp,
    chain_bare_fp;

#endif
