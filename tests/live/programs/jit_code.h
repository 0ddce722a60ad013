/* The machine code of programs that make some at run time (x86-64). */
#ifndef LIVE_JIT_CODE_H
#define LIVE_JIT_CODE_H

#include <stdint.h>

/*
 * for (; edi; edi--) eax = eax * 3 + 1; with frame pointers, as the kernel and unwinders like it.
 */
static const uint8_t code[] = {
    0x55,                   /* push %rbp */
    0x48, 0x89, 0xe5,       /* mov %rsp,%rbp */
    0x8d, 0x44, 0x40, 0x01, /* 1: lea 1(%rax,%rax,2),%eax */
    0xff, 0xcf,             /* dec %edi */
    0x75, 0xf8,             /* jne 1b */
    0x5d,                   /* pop %rbp */
    0xc3,                   /* ret */
};

#endif
