/*
 * The programs of the collector `bpf`: one object, in parts by concern. Each part is included once.
 * Only helpers and map types of Linux 5.8 are used.
 *
 * License of this file and its parts: Dual BSD/GPL, as the kernel asks of programs that use its
 * helpers.
 */
#include "bpf/calls.bpf.h"
#include "bpf/drm.bpf.h"
#include "bpf/processes.bpf.h"
#include "bpf/samples.bpf.h"
#include "bpf/waits.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
