/*
 * The text of a code object's instructions. An installed disassembler writes it, once for each
 * object (once for each function of a large one), and the cache of names keeps it. Without a
 * disassembler, NVIDIA's code gets the mnemonic and the guard from aflame's own table.
 *
 *	af_listing_open → af_listing_text* → af_listing_close
 */
#ifndef AF_SYM_DEVICE_LISTING_H
#define AF_SYM_DEVICE_LISTING_H

#include <stdint.h>

struct af_code;
struct af_listing;

/*
 * The listing of @code, which outlives it. @sha identifies its bytes in the cache (their SHA-256 in
 * hexadecimal); NULL: nothing is kept. It never fails: texts that cannot be had are missing.
 */
struct af_listing *af_listing_open(struct af_code *code, const char *sha);
void af_listing_close(struct af_listing *l);

/*
 * The instruction at @offset of function @i: "@!P0 LDG.E R2, [R4.64]", jumps with the offset in
 * their section; NULL when nothing is known. Lives as long as @l. One thread at a time.
 */
const char *af_listing_text(struct af_listing *l, uint32_t i, uint64_t offset);

/*
 * The source of the texts: "nvdisasm", "objdump", "iga64", "the trace", "aflame's table"; "" for
 * none.
 */
const char *af_listing_source(const struct af_listing *l);

/* Why there is no disassembler's text, in words for people; "" when there is. */
const char *af_listing_reason(const struct af_listing *l);

#endif
