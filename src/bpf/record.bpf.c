/*
 * The programs of the collector `bpf`: one object, in parts by concern. Each part is included once.
 * Only helpers and map types of Linux 5.8 are used; those of submissions.bpf.h need Linux 5.17, and
 * are loaded only where they can be.
 *
 * License of this file and its parts: Dual BSD/GPL, as the kernel asks of programs that use its
 * helpers.
 */
#include "bpf/calls.bpf.h"
#include "bpf/functions.bpf.h"
#include "bpf/processes.bpf.h"
#include "bpf/samples.bpf.h"
#include "bpf/submissions.bpf.h"
#include "bpf/waits.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
