/*
 * The event table: every kind of record a trace can hold, once. From it come the enum, the structs
 * below, the packed structs (src/trace/layout.h), the CTF metadata (metadata.c), the checked
 * decoder (decode.c), `aflame print` and docs/format.md. Numbers are on disk: add at the end, never
 * reuse or reorder; a changed meaning is a new kind.
 *
 * On disk an event is a header (kind, size, time), the kind's fixed fields (packed, little-endian),
 * then its tail fields in order: STR is a NUL-terminated string, SEQ is a u32 count and that many
 * elements. `size` covers all of it, so a reader skips kinds it does not know.
 *
 * Scopes of ids. `process` is in the packet header. Ids of stacks, callpaths, python stacks and
 * shapes belong to one stream and are defined in it before they are used, so a stream reads
 * alone; a second definition of an id replaces the first from there on. Ids of devices, contexts,
 * queues, programs and kernels belong to the process. Addresses belong to the process.
 *
 * Stamps of device work are as the driver gave them, on the clock of the device: the CLOCK pairs of
 * that device (all pairs of the process, also later ones) make them times of the trace.
 */
#ifndef AFLAME_EVENT_H
#define AFLAME_EVENT_H

#include <stddef.h>
#include <stdint.h>

#define AF_LOST_FIELDS(F)                                                                          \
	F(FIX, u32, reason, "enum af_lost")                                                        \
	F(FIX, u64, count, "how many events, samples or bytes were lost here")

#define AF_NOTE_FIELDS(F)                                                                          \
	F(STR, str, key, "dotted name: cmd, host, collector.cpu, …")                               \
	F(STR, str, value, "text")

#define AF_CLOCK_FIELDS(F)                                                                         \
	F(FIX, u32, clock, "enum af_clock_id: the foreign clock")                                  \
	F(FIX, u32, device, "device whose clock it is, 0 for a host clock")                        \
	F(FIX, u64, mono_ns, "CLOCK_MONOTONIC at the pair")                                        \
	F(FIX, u64, foreign, "the foreign clock at the same moment, in its own ticks")             \
	F(FIX, u64, uncertainty_ns, "width of the bracket the pair was taken in")

#define AF_PROCESS_FIELDS(F)                                                                       \
	F(FIX, u32, pid, "")                                                                       \
	F(FIX, u32, ppid, "")                                                                      \
	F(FIX, u32, parent, "process ordinal this one was forked from, 0 when it was exec'd")      \
	F(STR, str, exe, "path of the executable")                                                 \
	F(STR, str, cmdline, "arguments joined by blanks")

#define AF_PROCESS_END_FIELDS(F)                                                                   \
	F(FIX, u32, process, "process ordinal")                                                    \
	F(FIX, i32, status, "wait status, -1 when not known")                                      \
	F(FIX, u64, user_ns, "CPU time in user mode")                                              \
	F(FIX, u64, kernel_ns, "CPU time in the kernel")                                           \
	F(FIX, u64, max_rss_bytes, "")                                                             \
	F(FIX, u32, source, "enum af_usage_source: who measured it")

#define AF_THREAD_FIELDS(F)                                                                        \
	F(FIX, u32, tid, "")                                                                       \
	F(STR, str, name, "comm")

#define AF_MAPPING_FIELDS(F)                                                                       \
	F(FIX, x64, start, "first address of executable code")                                     \
	F(FIX, x64, end, "first address after it")                                                 \
	F(FIX, x64, bias, "run-time address minus the ELF file's virtual address")                 \
	F(FIX, u32, flags, "enum af_mapping_flag")                                                 \
	F(FIX, u32, epoch, "modules were unloaded this often before: see MAPPING_GONE")            \
	F(SEQ, u8, build_id, "NT_GNU_BUILD_ID read from memory, may be empty")                     \
	F(STR, str, path, "file, or [vdso], [jit], [anon]")

#define AF_STACK_FIELDS(F)                                                                         \
	F(FIX, u32, stack, "stack id of this stream")                                              \
	F(FIX, u32, stop, "enum af_stop: why the walk ended")                                      \
	F(FIX, u32, epoch,                                                                         \
	  "of the mappings its addresses were walked in: they belong to "                          \
	  "the newest MAPPING at the address of at most this epoch")                               \
	F(SEQ, x64, pcs,                                                                           \
	  "leaf first; return addresses are less one, so that every entry can be "                 \
	  "looked up as it is; 1 << 62 | n stands for n frames that are left out, "                \
	  "n = 0 for what a thread did that ended before a sample")

#define AF_PY_STACK_FIELDS(F)                                                                      \
	F(FIX, u32, py_stack, "python stack id of this stream")                                    \
	F(FIX, u32, stop, "enum af_stop")                                                          \
	F(SEQ, x64, frames,                                                                        \
	  "leaf first: code id << 32 | last instruction in bytes; "                                \
	  "0xffffffffffffffff is the border of one native eval call; "                             \
	  "1 << 62 | n stands for n frames that are left out")

#define AF_PY_CODE_FIELDS(F)                                                                       \
	F(FIX, u32, code, "code id of this process")                                               \
	F(FIX, u32, version, "PY_VERSION_HEX >> 16, which fixes the line table's format")          \
	F(FIX, i32, first_line, "co_firstlineno")                                                  \
	F(SEQ, u8, lines, "co_lnotab or co_linetable, empty when too large")                       \
	F(STR, str, name, "co_qualname, or co_name before 3.11")                                   \
	F(STR, str, file, "co_filename")

#define AF_CALLPATH_FIELDS(F)                                                                      \
	F(FIX, u32, callpath, "callpath id of this stream")                                        \
	F(FIX, u32, stack, "native stack id")                                                      \
	F(FIX, u32, py_stack, "python stack id, 0 for none")

#define AF_SAMPLE_FIELDS(F)                                                                        \
	F(FIX, u32, callpath, "")                                                                  \
	F(FIX, u32, flags, "enum af_sample_flag")                                                  \
	F(FIX, u64, weight_ns, "CPU time this sample stands for")

#define AF_DEVICE_FIELDS(F)                                                                        \
	F(FIX, u32, device, "device id of this process, from 1")                                   \
	F(FIX, u32, parent, "device this is a part of, 0 for none")                                \
	F(FIX, u32, type, "enum af_device_type")                                                   \
	F(FIX, u32, api, "enum af_api")                                                            \
	F(STR, str, name, "")                                                                      \
	F(STR, str, vendor, "")                                                                    \
	F(STR, str, driver, "driver and version")

#define AF_QUEUE_FIELDS(F)                                                                         \
	F(FIX, u32, queue, "queue (stream) id of this process, from 1")                            \
	F(FIX, u32, device, "")                                                                    \
	F(FIX, u32, context, "context id of this process, from 1")                                 \
	F(FIX, u32, flags, "enum af_queue_flag")                                                   \
	F(FIX, x64, handle, "the runtime's own handle")

#define AF_PROGRAM_FIELDS(F)                                                                       \
	F(FIX, u32, program, "program (module) id of this process, from 1")                        \
	F(FIX, u32, device, "device the object is for, 0 for all of the context")                  \
	F(FIX, u32, form, "enum af_object_form")                                                   \
	F(FIX, u64, size, "bytes of the object")                                                   \
	F(STR, str, object, "name in objects/, its SHA-256; empty when it was not kept")           \
	F(STR, str, options, "build options")

#define AF_KERNEL_FIELDS(F)                                                                        \
	F(FIX, u32, kernel, "kernel id of this process, from 1")                                   \
	F(FIX, u32, program, "0 when not known")                                                   \
	F(STR, str, name, "as the runtime names it")

#define AF_DESCRIPTOR_FIELDS(F)                                                                    \
	F(FIX, u32, descriptor, "descriptor id of this stream: what a piece of work is")           \
	F(FIX, u32, op, "enum af_op")                                                              \
	F(FIX, u32, queue, "")                                                                     \
	F(FIX, u32, kernel, "0 for what is not a kernel")                                          \
	F(FIX, u64, bytes, "of a copy, map or fill")                                               \
	F(FIX, u64, global_x, "work items")                                                        \
	F(FIX, u64, global_y, "")                                                                  \
	F(FIX, u64, global_z, "")                                                                  \
	F(FIX, u32, local_x, "work-group size, 0 when the driver chose")                           \
	F(FIX, u32, local_y, "")                                                                   \
	F(FIX, u32, local_z, "")

#define AF_LAUNCH_FIELDS(F)                                                                        \
	F(FIX, u32, callpath, "host call path that asked for the work")                            \
	F(FIX, u64, correlation, "ties the work to its launch; unique in the process")

#define AF_WORK_FIELDS(F)                                                                          \
	F(FIX, u32, descriptor, "")                                                                \
	F(FIX, u64, correlation, "")                                                               \
	F(FIX, u64, queued_ns, "on the device's clock")                                            \
	F(FIX, u32, submit_after_ns, "submit less queued")                                         \
	F(FIX, u32, start_after_ns, "start less submit")                                           \
	F(FIX, u32, busy_ns, "end less start")

#define AF_WORK_LONG_FIELDS(F)                                                                     \
	F(FIX, u32, descriptor, "")                                                                \
	F(FIX, u64, correlation, "")                                                               \
	F(FIX, u64, queued_ns,                                                                     \
	  "on the device's clock, as the three below; 0: the driver gave no stamp")                \
	F(FIX, u64, submit_ns, "")                                                                 \
	F(FIX, u64, start_ns, "")                                                                  \
	F(FIX, u64, end_ns, "")                                                                    \
	F(FIX, i32, status, "0, or the runtime's error: the work did not complete")

#define AF_STRING_FIELDS(F)                                                                        \
	F(FIX, u32, string, "string id of this stream, from 1")                                    \
	F(STR, str, text, "")

#define AF_SYMBOL_FIELDS(F)                                                                        \
	F(FIX, u32, process, "process ordinal the address belongs to")                             \
	F(FIX, x64, address, "as it stands in STACK")                                              \
	F(FIX, u32, epoch,                                                                         \
	  "first epoch this holds for, up to the next SYMBOL of the "                              \
	  "address")                                                                               \
	F(FIX, u32, module, "string id: file the address lies in, 0 for none")                     \
	F(FIX, x64, offset, "address less the mapping's bias")                                     \
	F(FIX, u32, source,                                                                        \
	  "enum af_symbol_source: where the name came from, or why there is "                      \
	  "none")                                                                                  \
	F(SEQ, u32, frames,                                                                        \
	  "three each, innermost inlined function first: function string, "                        \
	  "file string, line; 0 for what is not known")

#define AF_SYMBOL_LATER_FIELDS(F)                                                                  \
	F(FIX, u32, process, "as in the SYMBOL of the address")                                    \
	F(FIX, x64, address, "")                                                                   \
	F(FIX, u64, from_ns,                                                                       \
	  "other code made at run time lies there from then on, up to the next of these "          \
	  "events for the address")                                                                \
	F(FIX, u32, source, "enum af_symbol_source")                                               \
	F(SEQ, u32, frames, "as in SYMBOL")

#define AF_PERF_MAP_FIELDS(F)                                                                      \
	F(FIX, u32, process, "process ordinal: the text is of its perf-PID.map")                   \
	F(FIX, u64, written_ns, "when it was written, as far as known")                            \
	F(STR, str, text, "whole lines; the last one holds where lines overlap")

#define AF_JIT_IMAGE_FIELDS(F)                                                                     \
	F(FIX, u32, process, "process ordinal")                                                    \
	F(FIX, x64, entry, "the address of its entry in the list of GDB's JIT interface")          \
	F(FIX, u64, from_ns, "when it came into the list, or left it")                             \
	F(STR, str, object, "name in objects/; empty: it is not in the list any more")

#define AF_MAPPING_GONE_FIELDS(F)                                                                  \
	F(FIX, u32, epoch, "modules were unloaded: addresses seen before may be reused")

#define AF_KSTACK_FIELDS(F)                                                                        \
	F(FIX, u32, kstack, "kernel stack id of this stream")                                      \
	F(FIX, u32, stop, "enum af_stop")                                                          \
	F(SEQ, x64, pcs, "leaf first, as in STACK; SYMBOLs of process 0 name them")

#define AF_KSAMPLE_FIELDS(F)                                                                       \
	F(FIX, u32, callpath, "user part, 0 for none")                                             \
	F(FIX, u32, kstack, "kernel part, 0 for none")                                             \
	F(FIX, u32, flags, "enum af_sample_flag")                                                  \
	F(FIX, u32, cpu, "")                                                                       \
	F(FIX, u64, weight_ns, "CPU time this sample stands for")

#define AF_COUNTED_FIELDS(F)                                                                       \
	F(FIX, u32, callpath, "user part, 0 for none")                                             \
	F(FIX, u32, kstack, "kernel part, 0 for none")                                             \
	F(FIX, u32, cpu, "")                                                                       \
	F(FIX, u64, count, "how often the event happened; of what, the note weight.count says")    \
	F(FIX, u64, apart_ns, "how far apart samples are, by the rate asked for; 0 not known")

#define AF_OFFCPU_FIELDS(F)                                                                        \
	F(FIX, u32, callpath, "user part, 0 for none")                                             \
	F(FIX, u32, kstack, "kernel part, 0 for none")                                             \
	F(FIX, u32, state, "enum af_thread_state: why it left the CPU")                            \
	F(FIX, u64, blocked_ns, "until it was woken, or back on a CPU when no WAKE was seen")      \
	F(FIX, u64, queued_ns,                                                                     \
	  "from then until it was on a CPU again, which is this event's time")                     \
	F(FIX, u64, wake, "the WAKE that ended it, 0 when it was not recorded")

#define AF_WAKE_FIELDS(F)                                                                          \
	F(FIX, u64, wake, "unique in the trace, from 1")                                           \
	F(FIX, u32, tid, "the thread that was woken")                                              \
	F(FIX, u32, callpath, "of the waker: user part, 0 for none")                               \
	F(FIX, u32, kstack, "kernel part, 0 for none")

#define AF_PROCESS_NOTE_FIELDS(F)                                                                  \
	F(FIX, u32, process, "process ordinal")                                                    \
	F(STR, str, key, "cgroup, container, rank, …")                                             \
	F(STR, str, value, "text")

#define AF_COMM_FIELDS(F)                                                                          \
	F(FIX, u32, tid, "")                                                                       \
	F(STR, str, name, "the thread's comm from here on")

#define AF_FUNCTION_FIELDS(F)                                                                      \
	F(FIX, u32, function, "function id of this process, from 1")                               \
	F(FIX, u32, api, "enum af_api")                                                            \
	F(FIX, u32, category, "enum af_call_category: what calls of it are for")                   \
	F(STR, str, name, "as the API calls it")

#define AF_CALL_FIELDS(F)                                                                          \
	F(FIX, u32, callpath, "who called, up to the API's own frames; 0 when not known")          \
	F(FIX, u32, correlation, "low half: see GPU_WORK")                                         \
	F(FIX, u8, function, "")                                                                   \
	F(FIX, u24, duration_ns, "this event's time is the call's end")

#define AF_CALL_LONG_FIELDS(F)                                                                     \
	F(FIX, u32, callpath, "")                                                                  \
	F(FIX, u32, correlation, "")                                                               \
	F(FIX, u32, function, "")                                                                  \
	F(FIX, u64, duration_ns, "")                                                               \
	F(FIX, i32, status, "0, or the runtime's error")

#define AF_GPU_WORK_FIELDS(F)                                                                      \
	F(FIX, u32, descriptor, "")                                                                \
	F(FIX, u32, correlation,                                                                   \
	  "low half of the number of the call that asked for it, which is unique in the process: " \
	  "of all calls with this half, the one nearest in time")                                  \
	F(FIX, u64, start_ns, "on the device's clock")                                             \
	F(FIX, u32, busy_ns, "end less start")                                                     \
	F(FIX, u32, node, "of the graph that was launched, 0 when launched by itself")

#define AF_GPU_WORK_LONG_FIELDS(F)                                                                 \
	F(FIX, u32, descriptor, "")                                                                \
	F(FIX, u32, correlation, "")                                                               \
	F(FIX, u64, start_ns, "on the device's clock; 0: the driver gave no stamp")                \
	F(FIX, u64, end_ns, "")                                                                    \
	F(FIX, u32, node, "")

#define AF_GRAPH_NODE_FIELDS(F)                                                                    \
	F(FIX, u32, node,                                                                          \
	  "node id of this process, from 1; a later definition of it holds for "                   \
	  "launches from then on")                                                                 \
	F(FIX, u32, graph, "as the runtime numbers graphs")                                        \
	F(FIX, u32, original, "node it was cloned or updated from, 0 for none")                    \
	F(FIX, u32, callpath, "who made it (captured it), 0 for a clone")

#define AF_LAUNCH_CONFIG_FIELDS(F)                                                                 \
	F(FIX, u32, descriptor, "more of this descriptor, a kernel's")                             \
	F(FIX, u32, registers, "a thread")                                                         \
	F(FIX, u32, static_shared, "bytes a block")                                                \
	F(FIX, u32, dynamic_shared, "bytes a block")                                               \
	F(FIX, u32, local, "bytes a thread")                                                       \
	F(FIX, u32, cluster_x, "blocks, 0 for no clusters")                                        \
	F(FIX, u32, cluster_y, "")                                                                 \
	F(FIX, u32, cluster_z, "")

#define AF_MEMORY_FIELDS(F)                                                                        \
	F(FIX, u32, category, "enum af_call_category: ALLOC or FREE")                              \
	F(FIX, u32, memory, "enum af_memory")                                                      \
	F(FIX, u32, device, "0 for the host's")                                                    \
	F(FIX, u32, correlation, "of the CALL that did it")                                        \
	F(FIX, x64, address, "or the handle, of memory that is mapped later")                      \
	F(FIX, u64, bytes, "0 for a FREE: as it was allocated")

#define AF_RANGE_FIELDS(F)                                                                         \
	F(FIX, u32, edge, "enum af_range_edge")                                                    \
	F(FIX, u32, color, "ARGB as the program gave it, 0 for none")                              \
	F(FIX, u64, range, "of a START and its END, 0 for what nests by thread")                   \
	F(STR, str, domain, "")                                                                    \
	F(STR, str, name, "empty at an end")

#define AF_OVERHEAD_FIELDS(F)                                                                      \
	F(FIX, u32, overhead, "enum af_overhead: what the tracing itself cost, as it says")        \
	F(FIX, u32, device, "whose clock the stamps are on")                                       \
	F(FIX, u64, start_ns, "")                                                                  \
	F(FIX, u64, busy_ns, "")

#define AF_CALL_SEEN_FIELDS(F)                                                                     \
	F(FIX, u32, callpath, "who called; 0 when not known")                                      \
	F(FIX, u32, function, "this event's time is the call's beginning")                         \
	F(FIX, u32, correlation, "of the CALL that is the same, 0 when not known")

#define AF_OPERATION_FIELDS(F)                                                                     \
	F(FIX, u64, sequence,                                                                      \
	  "number of the backward function that this makes, if it makes one: of those with the "   \
	  "number the latest")                                                                     \
	F(FIX, u32, callpath, "who asked for the operation")

#define AF_STALL_FIELDS(F)                                                                         \
	F(FIX, u32, stall, "stall reason id of this process, from 1")                              \
	F(FIX, u32, device, "whose reason it is, 0: any device's")                                 \
	F(FIX, u32, flags, "enum af_stall_flag")                                                   \
	F(STR, str, name, "as the driver names it")

#define AF_CODE_FIELDS(F)                                                                          \
	F(FIX, u32, code, "id of this process, from 1: a function of device code")                 \
	F(FIX, u32, program, "whose function it is, 0: see crc")                                   \
	F(FIX, u32, symbol, "its number in the object's symbol table, 0 when not known")           \
	F(FIX, x64, crc, "of the object, see PROGRAM_CRC, which may come later; 0 for none")       \
	F(STR, str, name, "as the object names it")

#define AF_PROGRAM_CRC_FIELDS(F)                                                                   \
	F(FIX, u32, program, "")                                                                   \
	F(FIX, x64, crc, "what the driver calls the same object when it tells of samples")

#define AF_GPU_WINDOW_FIELDS(F)                                                                    \
	F(FIX, u32, window, "window id of this process, from 1: samples that were read together")  \
	F(FIX, u32, device, "")                                                                    \
	F(FIX, u32, flags, "enum af_window_flag")                                                  \
	F(FIX, u64, start_ns, "on the trace's clock: no sample of it is older")                    \
	F(FIX, u64, end_ns, "nor younger")                                                         \
	F(FIX, u64, period_cycles, "of the device, between two samples of one of its processors")  \
	F(FIX, u64, samples, "in all, with those of the next two fields")                          \
	F(FIX, u64, dropped, "by the device: its buffer was full")                                 \
	F(FIX, u64, other, "in code that the driver does not tell of: its own")

#define AF_GPU_SAMPLE_FIELDS(F)                                                                    \
	F(FIX, u32, window, "")                                                                    \
	F(FIX, u32, code, "")                                                                      \
	F(FIX, u32, offset, "of the instruction, in bytes from the function's first")              \
	F(FIX, u32, correlation, "of the kernel's call where the window is SERIALIZED, else 0")    \
	F(SEQ, u32, counts, "two each: stall reason, samples")

#define AF_CODE_PLACED_FIELDS(F)                                                                   \
	F(FIX, u32, code, "")                                                                      \
	F(FIX, u32, device, "in whose memory it lies")                                             \
	F(FIX, x64, address, "of its first byte, in the device's address space of the process")    \
	F(FIX, u64, size, "bytes; 0: it is not there any more")

#define AF_ADDRESS_SAMPLE_FIELDS(F)                                                                \
	F(FIX, u32, window, "of the stream's process, as in GPU_SAMPLE")                           \
	F(FIX, x64, address,                                                                       \
	  "of the instruction, in the address space of a process that the device does not tell; "  \
	  "of windows that are ADDRESS_32 only the low 32 bits")                                   \
	F(SEQ, u32, counts, "two each: stall reason, samples")

#define AF_KERNEL_CODE_FIELDS(F)                                                                   \
	F(FIX, u32, kernel,                                                                        \
	  "of this process: a batch of work that a driver was given, timed as a whole")            \
	F(FIX, u32, code, "that the batch runs; it may run more than one")

#define AF_COUNTER_FIELDS(F)                                                                       \
	F(FIX, u32, counter, "counter id of this process, from 1")                                 \
	F(FIX, u32, device, "whose it is; 0: the host's")                                          \
	F(FIX, u32, flags, "enum af_counter_flag")                                                 \
	F(FIX, u64, per,                                                                           \
	  "how much of a value is one of `unit`: 1000 where values are thousandths")               \
	F(STR, str, name, "as the device or the system names it")                                  \
	F(STR, str, unit, "W, MHz, %, bytes, …; empty: a number of things")                        \
	F(STR, str, group, "values of which are read together, or empty")

#define AF_READING_FIELDS(F)                                                                       \
	F(FIX, u64, span_ns, "the values are of so long before it; 0: of the moment")              \
	F(SEQ, u64, values, "two each: counter, value")

#define AF_WORK_READING_FIELDS(F)                                                                  \
	F(FIX, u64, call, "number of the call that asked for the work, in this stream's process")  \
	F(FIX, u32, node, "of the graph that the call launched, as in GPU_WORK; 0: by itself")     \
	F(SEQ, u64, values, "two each: counter, value")

#define AF_CODE_ADDRESS_FIELDS(F)                                                                  \
	F(FIX, u32, process, "as in the SYMBOL of the address, which it follows")                  \
	F(FIX, x64, address, "")                                                                   \
	F(FIX, u32, epoch, "")                                                                     \
	F(FIX, u32, code, "the function, of this stream's process; 0: in none any more")           \
	F(FIX, u32, offset, "in bytes from the function's first")

#define AF_DEVICE_NOTE_FIELDS(F)                                                                   \
	F(FIX, u32, device, "")                                                                    \
	F(STR, str, key,                                                                           \
	  "uuid, the same in all processes that use the device; processors, clock_khz, "           \
	  "memory_bytes, capability, pci, …")                                                      \
	F(STR, str, value, "text")

#define AF_SUMMED_FIELDS(F)                                                                        \
	F(FIX, u32, callpath, "user part, 0 for none")                                             \
	F(FIX, u32, kstack, "kernel part, 0 for none")                                             \
	F(FIX, u64, busy_ns, "on the CPU, or in whatever state the other profiler looked at")      \
	F(FIX, u64, samples, "")                                                                   \
	F(FIX, u64, count, "of calls, objects, launches: of what, a note says")                    \
	F(FIX, u64, bytes, "")                                                                     \
	F(FIX, u64, off_cpu_ns, "")

#define AF_USAGE_FIELDS(F)                                                                         \
	F(FIX, u32, process, "process ordinal; 0: the recorder")                                   \
	F(FIX, u32, tid, "of that thread alone, 0: of all the threads of the process")             \
	F(FIX, u32, whose, "enum af_usage_whose")                                                  \
	F(FIX, u32, source, "enum af_usage_source: who measured it")                               \
	F(FIX, u64, user_ns, "CPU time in user mode, since the process or thread began")           \
	F(FIX, u64, kernel_ns, "CPU time in the kernel")

#define AF_UNSAMPLED_FIELDS(F)                                                                     \
	F(FIX, u32, process, "process ordinal")                                                    \
	F(FIX, u32, tid, "0: not of one thread")                                                   \
	F(FIX, u32, cause, "enum af_unsampled")                                                    \
	F(FIX, u64, count, "of threads, samples or programs; 0: not counted")                      \
	F(FIX, u64, cpu_ns, "CPU time that this explains; 0: not known")

/*
 * The same five fields begin the payload of every call of a traced API: of this kind, and of the
 * kinds from AF_KIND_API on, which have the call's arguments by name (src/api/README.md).
 */
#define AF_API_CALL_FIELDS(F)                                                                      \
	F(FIX, u32, callpath, "who called; 0: no stack was taken")                                 \
	F(FIX, u32, correlation, "as in CALL: low half of its number, 0 for none")                 \
	F(FIX, u48, duration_ns, "this event's time is the call's end")                            \
	F(FIX, u8, depth, "traced calls of the thread that it is nested in")                       \
	F(FIX, u8, flags, "enum af_api_call_flag")                                                 \
	F(FIX, u32, function, "a FUNCTION that the API's model does not have")                     \
	F(FIX, x64, result, "as it was returned")                                                  \
	F(SEQ, x64, args, "the first of them, as far as they are words")

#define AF_CALL_OPEN_FIELDS(F)                                                                     \
	F(FIX, u32, tid, "the thread that is inside")                                              \
	F(FIX, u32, function, "the kind of its calls, from AF_KIND_API on; or a FUNCTION")         \
	F(FIX, u64, begin_ns, "when it was called, on the trace's clock")                          \
	F(FIX, u8, depth, "as in API_CALL")                                                        \
	F(SEQ, x64, args, "the first, as in a C struct; of functions that do not wait, none")

#define AF_CALL_SUM_FIELDS(F)                                                                      \
	F(FIX, u32, tid, "the calling thread")                                                     \
	F(FIX, u32, function, "as in CALL_OPEN")                                                   \
	F(FIX, u64, count, "of calls, failed ones included")                                       \
	F(FIX, u64, failed, "of calls that returned an error: they are in none of the sums")       \
	F(FIX, u64, time_ns, "")                                                                   \
	F(FIX, u64, min_ns, "")                                                                    \
	F(FIX, u64, max_ns, "")                                                                    \
	F(FIX, u64, bytes, "that they moved or allocated")                                         \
	F(SEQ, u32, times, "calls of at least 2^i ns and less than twice that")                    \
	F(SEQ, u32, sizes, "calls that moved 2^i bytes and less than twice that")

#define AF_WORK_SUM_FIELDS(F)                                                                      \
	F(FIX, u32, descriptor, "")                                                                \
	F(FIX, u64, count, "of pieces of work")                                                    \
	F(FIX, u64, time_ns, "that the device was busy with them")                                 \
	F(FIX, u64, min_ns, "")                                                                    \
	F(FIX, u64, max_ns, "")                                                                    \
	F(SEQ, u32, times, "as in CALL_SUM")

#define AF_FUNCTION_SOURCE_FIELDS(F)                                                               \
	F(FIX, u32, module, "string id, as in the SYMBOLs of the function")                        \
	F(FIX, u32, function, "string id, as in their frames")                                     \
	F(FIX, x64, start,                                                                         \
	  "its first address, or that of a part of it, to compare with their offset; 0: it was "   \
	  "inlined, or not known")                                                                 \
	F(FIX, u32, file, "string id: where it is defined or declared; 0 not known")               \
	F(FIX, u32, line, "0 not known")

#define AF_ALLOCATED_FIELDS(F)                                                                     \
	F(FIX, u32, callpath, "who allocated, up to the caller of malloc; 0 when not known")       \
	F(FIX, u64, allocations, "since the last event of the call path in this process")          \
	F(FIX, u64, bytes, "that they were of, as the program asked for them")                     \
	F(FIX, u64, frees, "since then, of blocks that were allocated there, by any thread")       \
	F(FIX, u64, freed_bytes, "")

/*
 * K(number, NAME, name, meaning): the kinds of the trace format, version AF_TRACE_VERSION.
 */
#define AF_KINDS(K)                                                                                \
	K(1, LOST, lost, "something was dropped here, and why")                                    \
	K(2, NOTE, note, "a fact about the run")                                                   \
	K(3, CLOCK, clock, "a pair of clock readings")                                             \
	K(4, PROCESS, process, "a process image starts to be recorded")                            \
	K(5, PROCESS_END, process_end, "what a process used, at its end or when last seen")        \
	K(6, THREAD, thread, "a thread begins to write this stream: what follows is its own")      \
	K(7, MAPPING, mapping, "code is mapped in the process")                                    \
	K(8, STACK, stack, "defines a native stack")                                               \
	K(9, PY_STACK, py_stack, "defines a python stack")                                         \
	K(10, PY_CODE, py_code, "defines a python code object")                                    \
	K(11, CALLPATH, callpath, "defines a call path: native and python stack together")         \
	K(12, SAMPLE, sample, "a thread was on the CPU here")                                      \
	K(13, DEVICE, device, "defines a device")                                                  \
	K(14, QUEUE, queue, "defines a queue (stream) of a device")                                \
	K(15, PROGRAM, program, "defines a program (module) and its captured object")              \
	K(16, KERNEL, kernel, "defines a kernel")                                                  \
	K(17, DESCRIPTOR, descriptor, "defines what a piece of device work is")                    \
	K(18, LAUNCH, launch, "a host thread hands work to a device")                              \
	K(19, WORK, work, "a device did a piece of work")                                          \
	K(20, WORK_LONG, work_long, "the same, with full stamps or an error")                      \
	K(21, STRING, string, "defines a string")                                                  \
	K(22, SYMBOL, symbol, "names of an address")                                               \
	K(23, MAPPING_GONE, mapping_gone, "code was unmapped")                                     \
	K(24, KSTACK, kstack, "defines a kernel stack")                                            \
	K(25, KSAMPLE, ksample, "the kernel found a thread on the CPU here")                       \
	K(26, OFFCPU, offcpu, "a thread is back on a CPU after it was off")                        \
	K(27, WAKE, wake, "a thread woke another")                                                 \
	K(28, PROCESS_NOTE, process_note, "a fact about a process")                                \
	K(29, COMM, comm, "a thread was renamed")                                                  \
	K(30, FUNCTION, function, "defines a function of a device API")                            \
	K(31, CALL, call, "a thread called a device API, and is back")                             \
	K(32, CALL_LONG, call_long, "the same: it took long, or failed")                           \
	K(33, GPU_WORK, gpu_work, "a device did a piece of work that a CALL asked for")            \
	K(34, GPU_WORK_LONG, gpu_work_long, "the same: it took long, or has no stamps")            \
	K(35, GRAPH_NODE, graph_node, "defines a node of a graph of work")                         \
	K(36, LAUNCH_CONFIG, launch_config, "what else a kernel's descriptor is")                  \
	K(37, MEMORY, memory, "device memory, or memory that a device sees, came or went")         \
	K(38, RANGE, range, "the program says what it is doing (NVTX, aflame/region.h)")           \
	K(39, OVERHEAD, overhead, "what tracing cost, by the driver's own account")                \
	K(40, CALL_SEEN, call_seen, "a thread called a device API, as the kernel saw it")          \
	K(41, OPERATION, operation, "autograd does an operation that it may go back to")           \
	K(42, STALL, stall, "defines a reason why instructions of a device stall")                 \
	K(43, CODE, code, "defines a function of device code")                                     \
	K(44, PROGRAM_CRC, program_crc, "another name of a program")                               \
	K(45, GPU_WINDOW, gpu_window, "samples of what a device executes were read")               \
	K(46, GPU_SAMPLE, gpu_sample, "how often a device was at an instruction, and why")         \
	K(47, CODE_ADDRESS, code_address, "an address lies in device code, which ran on the host") \
	K(48, DEVICE_NOTE, device_note, "a fact about a device")                                   \
	K(49, SUMMED, summed, "what another profiler added up for a stack, of no moment")          \
	K(50, USAGE, usage, "CPU time that a process, its children or a thread used so far")       \
	K(51, UNSAMPLED, unsampled, "CPU time that was not sampled, or may not be, and why")       \
	K(52, COUNTED, counted, "a thread was found here by an event that is no clock")            \
	K(53, API_CALL, api_call, "a thread called a function that its API's model lacks")         \
	K(54, CALL_OPEN, call_open, "a call that had not returned when recording ended")           \
	K(55, CALL_SUM, call_sum, "calls of one function by one thread, added up")                 \
	K(56, WORK_SUM, work_sum, "pieces of device work of one descriptor, added up")             \
	K(57, FUNCTION_SOURCE, function_source,                                                    \
	  "where a function begins: in its file, in its source")                                   \
	K(58, ALLOCATED, allocated, "allocations of memory at a call path, added up")              \
	K(59, SYMBOL_LATER, symbol_later, "other names of an address, from a time on")             \
	K(60, PERF_MAP, perf_map, "lines of a perf map, when they were first seen")                \
	K(61, JIT_IMAGE, jit_image, "an ELF file in memory that describes code made at run time")  \
	K(62, CODE_PLACED, code_placed, "device code lies at an address from now on")              \
	K(63, ADDRESS_SAMPLE, address_sample,                                                      \
	  "how often a device was at an address, in whatever process, and why")                    \
	K(64, COUNTER, counter, "defines a counter of a device or of the host")                    \
	K(65, READING, reading, "values of counters over a span of time, or at a moment")          \
	K(66, WORK_READING, work_reading, "values of counters over a piece of device work alone")  \
	K(67, KERNEL_CODE, kernel_code, "a kernel that is a batch of work runs this code")

#define AF_TRACE_VERSION 1

enum af_kind {
#define AF_K(number, NAME, name, meaning) AF_KIND_##NAME = number,
	AF_KINDS(AF_K)
#undef AF_K
	    AF_KIND_END
};

enum {
	AF_KIND_MAX = 128, /* room in tables by kind */
	/*
	 * Kinds from here on share two bits of a mask: one for those that define something or hold
	 * on, one for those that count at their moment.
	 */
	AF_KIND_LATE = 62,
	AF_KIND_LATE_BIT = 62,
	AF_KIND_MOMENT_BIT = 0,
	/*
	 * Kinds from here on are calls of functions of traced APIs, a kind for each function. In
	 * masks they share one bit.
	 */
	AF_KIND_API = 0x1000,
	AF_KIND_API_BIT = 63,
};

/* The kinds from AF_KIND_LATE on that count at their moment; bit 0 is kind 64's. */
#define AF_KINDS_LATE_MOMENTS                                                                      \
	(UINT64_C(1) << (AF_KIND_ADDRESS_SAMPLE & 63) | UINT64_C(1) << (AF_KIND_READING & 63) |    \
	 UINT64_C(1) << (AF_KIND_WORK_READING & 63))

/* The bit of a kind of AF_KINDS in a mask of wanted kinds. */
#define AF_KIND_BIT(kind)                                                                          \
	(UINT64_C(1) << ((unsigned)(kind) < AF_KIND_LATE ? (unsigned)(kind)                        \
	                 : AF_KINDS_LATE_MOMENTS >> ((unsigned)(kind)&63) & 1                      \
	                     ? (unsigned)AF_KIND_MOMENT_BIT                                        \
	                     : (unsigned)AF_KIND_LATE_BIT))

/* The bit of @kind in a mask of wanted kinds; 0 for a kind that has none. */
static inline uint64_t af_kind_bit(uint16_t kind)
{
	if (kind >= AF_KIND_API)
		return UINT64_C(1) << AF_KIND_API_BIT;
	return kind && kind < AF_KIND_END ? AF_KIND_BIT(kind) : 0;
}

/* Flags of a call of a traced API. On disk. */
enum af_api_call_flag {
	AF_API_CALL_FAILED = 1,     /* it returned an error */
	AF_API_CALL_TRUNCATED = 2,  /* an argument was too long to be recorded whole */
	AF_API_CALL_UNREADABLE = 4, /* memory that an argument points to could not be read */
};

/*
 * A field of several values. The bytes lie in the mapped stream, unaligned: read one value with
 * af_seq_at(). They stay valid until af_trace_close().
 */
struct af_seq {
	const uint8_t *data;
	uint32_t nr;   /* values */
	uint32_t size; /* bytes of a value: 1, 4 or 8 */
};

/* Types of members: those of the table, without the ones that only exist on disk. */
typedef uint8_t af_field_u8;
typedef uint16_t af_field_u16;
typedef uint32_t af_field_u24;
typedef uint32_t af_field_u32;
typedef uint64_t af_field_u48;
typedef uint64_t af_field_u64;
typedef uint64_t af_field_x64;
typedef int32_t af_field_i32;
typedef int64_t af_field_i64;

/*
 * struct af_event_sample and so on: all fields of a kind, in the order of the table.
 * af_event_as_sample() of aflame/trace.h fills it. A string is NUL-terminated and stays valid until
 * af_trace_close(); it is what the program gave, so UTF-8 is not promised.
 */
#define AF_MEMBER_FIX(type, name) af_field_##type name;
#define AF_MEMBER_STR(type, name) const char *name;
#define AF_MEMBER_SEQ(type, name) struct af_seq name;
#define AF_MEMBER(class, type, name, meaning) AF_MEMBER_##class(type, name)
#define AF_K(number, NAME, name, meaning)                                                          \
	struct af_event_##name {                                                                   \
		AF_##NAME##_FIELDS(AF_MEMBER)                                                      \
	};
AF_KINDS(AF_K)
#undef AF_K
#undef AF_MEMBER
#undef AF_MEMBER_FIX
#undef AF_MEMBER_STR
#undef AF_MEMBER_SEQ

/* Reasons of a LOST event. On disk. */
#define AF_LOSTS(L)                                                                                \
	L(1, RING_FULL, "the recorder did not drain fast enough")                                  \
	L(2, NO_STREAM, "no stream could be made: /dev/shm full, or not visible")                  \
	L(3, TOO_LARGE, "an event larger than a packet")                                           \
	L(4, BUSY, "a sample hit while a sample was pending")                                      \
	L(5, DAMAGED, "bytes of the trace that could not be read")                                 \
	L(6, NO_STAMPS, "device work whose times the driver would not give")                       \
	L(7, DISK_FULL, "the trace could not be written")                                          \
	L(8, UNFINISHED, "device work that had not completed when recording ended")                \
	L(9, TABLE_FULL, "a table of fixed size in the target was full")                           \
	L(10, THROTTLED, "samples the kernel delivered late or not at all")                        \
	L(11, KERNEL_RING, "the kernel's ring was full: the recorder did not read fast enough")    \
	L(12, NO_JOIN, "kernel parts of samples whose user part never came")                       \
	L(13, OLDEST, "older events that gave way to newer ones, as --ring asks")                  \
	L(14, PAUSED,                                                                              \
	  "nanoseconds with recording off, as --ctl, --delay, --steps or --max-size asked")        \
	L(15, DEBUGGER, "samples while a debugger was attached")                                   \
	L(16, FORBIDDEN,                                                                           \
	  "samples in processes that may not write them (seccomp, or a limit on memory)")          \
	L(17, DROPPED, "records of device work that the driver dropped: no buffer was free")       \
	L(18, MEDDLED, "times that another process wrote over what belongs to the recorder")       \
	L(19, STRANGE, "messages to the recorder that no process of the recording would send")     \
	L(20, MAPPINGS, "mappings of processes that map more than 4,096 pieces of code")           \
	L(21, CAPPED, "samples beyond the number that --cap keeps")                                \
	L(22, REGIONS,                                                                             \
	  "regions more than 256 deep, and those of handlers that interrupted the writing of one") \
	L(23, LATE,                                                                                \
	  "readings of counters that were due and not made: no CPU was free, or one takes long")

enum af_lost {
#define AF_L(number, NAME, meaning) AF_LOST_##NAME = number,
	AF_LOSTS(AF_L)
#undef AF_L
	    AF_LOST_END
};

/* Why a stack ends. COMPLETE: at _start or a thread's start. On disk. */
#define AF_STOPS(S)                                                                                \
	S(0, COMPLETE, "")                                                                         \
	S(1, NO_RULE, "no unwind table and no frame pointer")                                      \
	S(2, BAD_FRAME, "a frame that cannot be")                                                  \
	S(3, UNREADABLE, "stack memory that cannot be read")                                       \
	S(4, TOO_DEEP, "deeper than the limit")                                                    \
	S(5, UNSUPPORTED, "an unwind rule that is not supported")                                  \
	S(6, NOT_WALKED, "this stack was not walked")                                              \
	S(7, FRAME_POINTERS, "followed by frame pointers only: functions without one are missing") \
	S(8, COPY_ENDS, "the stack goes on beyond what was copied of it")                          \
	S(9, NO_FILE, "the file with the unwind table is not at hand")                             \
	S(10, COSTLY, "unwind tables that take too long to read")                                  \
	S(11, NOT_CHOSEN, "--launches left out the stack of this launch")

enum af_stop {
#define AF_S(number, NAME, meaning) AF_STOP_##NAME = number,
	AF_STOPS(AF_S)
#undef AF_S
	    AF_STOP_END
};

enum af_clock_id {
	AF_CLOCK_REALTIME = 1,
	AF_CLOCK_BOOTTIME = 2,
	AF_CLOCK_DEVICE = 3,
};

enum af_usage_source {
	AF_USAGE_SELF = 1,      /* the process itself, as it ended */
	AF_USAGE_WAIT = 2,      /* wait4: the process and the children it waited for */
	AF_USAGE_LAST_SEEN = 3, /* /proc, at most a second before it ended */
	AF_USAGE_WATCHED = 4,   /* the difference while it was watched, in ticks of /proc */
	AF_USAGE_ENDED = 5,     /* its CPU clocks, when it had ended and nobody had waited for it */
};

/* These do not overlap: the time of a process contains nothing of its children's. */
enum af_usage_whose {
	AF_USAGE_OWN = 1,
	AF_USAGE_CHILDREN = 2, /* that it waited for, with those that they had waited for */
};

/* Why CPU time has no samples. On disk; each text completes a sentence about a process. */
#define AF_UNSAMPLEDS(U)                                                                           \
	U(1, SIGNALS_BLOCKED, "its threads block the signal of samples by a bare system call")     \
	U(2, OTHER_USER, "it runs as another user, who cannot reach the recorder")                 \
	U(3, SHORT_THREADS, "its threads ended before their first sample")                         \
	U(4, STATIC, "it is statically linked: no library can be loaded into it")                  \
	U(5, SET_USER_ID, "it is a set-user-id program: its loader ignores LD_PRELOAD")            \
	U(6, OTHER_LIBC, "its C library is another one (musl, or 32-bit)")                         \
	U(7, DEBUGGER, "a debugger was attached")                                                  \
	U(8, LATE, "samples were delivered late or not at all")                                    \
	U(9, KERNEL, "samples see user mode only")                                                 \
	U(10, NOT_LOADED, "libaflame was not loaded into it")                                      \
	U(11, SAMPLER_FAILED, "its sampler could not be started")                                  \
	U(12, FORBIDDEN, "it may not do what recording needs (seccomp, or a limit on memory)")     \
	U(13, LOST, "events were lost")                                                            \
	U(14, HANDLER_REPLACED, "it handles the signal of samples itself, by a bare system call")  \
	U(15, GO, "Go's runtime handles signals itself")

enum af_unsampled {
#define AF_U(number, NAME, meaning) AF_UNSAMPLED_##NAME = number,
	AF_UNSAMPLEDS(AF_U)
#undef AF_U
	    AF_UNSAMPLED_END
};

/*
 * Generations (module epochs) of mappings that the recorder saw begin here. They do not tell when.
 */
#define AF_EPOCH_RECORDER 0x80000000u

enum af_mapping_flag {
	AF_MAPPING_DELETED = 1, /* the file was replaced or removed */
	AF_MAPPING_JIT = 2,     /* no file behind it */
	AF_MAPPING_MAIN = 4,    /* the executable */
	AF_MAPPING_PYTHON = 8,  /* holds the CPython interpreter */
};

enum af_sample_flag {
	AF_SAMPLE_SYSCALL = 1, /* the time was in the kernel, which was entered at the leaf */
	AF_SAMPLE_MERGED = 2,  /* stands for several ticks that could not be told apart */
	/* KSAMPLE: the next SAMPLE of this thread has its user part and weight */
	AF_SAMPLE_JOINS = 4,
};

/* Why a thread left the CPU (the kernel's task states). On disk; names are what graphs show. */
#define AF_STATES(S)                                                                               \
	S(0, RUNNABLE, "waiting for a CPU")                                                        \
	S(1, SLEEPING, "sleeping")                                                                 \
	S(2, DISK, "uninterruptible wait")                                                         \
	S(3, STOPPED, "stopped")                                                                   \
	S(4, TRACED, "stopped by a debugger")                                                      \
	S(5, PARKED, "parked")                                                                     \
	S(6, IDLE, "idle")                                                                         \
	S(7, DEAD, "exiting")

enum af_thread_state {
#define AF_S(number, NAME, name) AF_STATE_##NAME = number,
	AF_STATES(AF_S)
#undef AF_S
	    AF_STATE_END
};

enum af_device_type {
	AF_DEVICE_CPU = 1,
	AF_DEVICE_GPU = 2,
	AF_DEVICE_ACCELERATOR = 3,
	AF_DEVICE_OTHER = 4
};

enum af_api {
	AF_API_OPENCL = 1,
	AF_API_CUDA = 2,
	AF_API_LEVEL_ZERO = 3,
	AF_API_HIP = 4,
	AF_API_OPENMP = 5,
	AF_API_CUDART = 6, /* the runtime, whose calls have calls of CUDA's driver in them */
	AF_API_MPI = 7,
	AF_API_DRM = 8, /* the kernel's drivers of GPUs, as the kernel saw their calls and work */
	AF_API_FUNCTION = 9 /* of no API: any function that the user named */
};

enum af_queue_flag {
	AF_QUEUE_OUT_OF_ORDER = 1,
	AF_QUEUE_USER_PROFILING = 2, /* the program had asked for event times itself */
	AF_QUEUE_ON_DEVICE = 4
};

enum af_object_form {
	AF_OBJECT_SOURCE = 1, /* program text */
	AF_OBJECT_BINARY = 2, /* what the driver gives back for the device */
	AF_OBJECT_IL = 3,     /* SPIR-V or another intermediate language */
	AF_OBJECT_NATIVE = 4, /* machine code the device runs: ELF, cubin */
	AF_OBJECT_LISTING = 5 /* text: instructions as another profiler named them */
};

/* The operation of a piece of device work. On disk; names are what tables and graphs show. */
#define AF_OPS(O)                                                                                  \
	O(1, KERNEL, "kernel")                                                                     \
	O(2, READ, "copy device to host")                                                          \
	O(3, WRITE, "copy host to device")                                                         \
	O(4, COPY, "copy device to device")                                                        \
	O(5, FILL, "fill")                                                                         \
	O(6, MAP, "map")                                                                           \
	O(7, UNMAP, "unmap")                                                                       \
	O(8, MIGRATE, "migrate")                                                                   \
	O(9, MARKER, "marker")                                                                     \
	O(10, BARRIER, "barrier")                                                                  \
	O(11, NATIVE, "native function")                                                           \
	O(12, FREE, "free")                                                                        \
	O(13, PEER, "copy device to another device")                                               \
	O(14, HOST, "copy host to host")                                                           \
	O(15, GRAPH, "graph")

enum af_op {
#define AF_O(number, NAME, name) AF_OP_##NAME = number,
	AF_OPS(AF_O)
#undef AF_O
	    AF_OP_END
};

/* The category of a call of a device API. On disk; names are what tables show. */
#define AF_CATEGORIES(D)                                                                           \
	D(1, LAUNCH, "launch")                                                                     \
	D(2, COPY, "copy")                                                                         \
	D(3, FILL, "fill")                                                                         \
	D(4, SYNC, "wait")                                                                         \
	D(5, ALLOC, "allocate")                                                                    \
	D(6, FREE, "free")                                                                         \
	D(7, GRAPH_LAUNCH, "graph launch")                                                         \
	D(8, GRAPH, "make a graph")                                                                \
	D(9, LOAD, "load code")                                                                    \
	D(10, OTHER, "other")                                                                      \
	D(11, SEND, "send")                                                                        \
	D(12, RECEIVE, "receive")                                                                  \
	D(13, COLLECTIVE, "collective")                                                            \
	D(14, ONE_SIDED, "one-sided")                                                              \
	D(15, FILE, "file")

enum af_call_category {
#define AF_D(number, NAME, name) AF_CATEGORY_##NAME = number,
	AF_CATEGORIES(AF_D)
#undef AF_D
	    AF_CATEGORY_END
};

/* The kind of memory. On disk; names are what tables show. */
#define AF_MEMORIES(M)                                                                             \
	M(1, DEVICE, "device")                                                                     \
	M(2, MANAGED, "managed")                                                                   \
	M(3, PINNED, "pinned host")                                                                \
	M(4, POOL, "device, stream-ordered")                                                       \
	M(5, VIRTUAL, "device, mapped by hand")

enum af_memory {
#define AF_M(number, NAME, name) AF_MEMORY_##NAME = number,
	AF_MEMORIES(AF_M)
#undef AF_M
	    AF_MEMORY_END
};

enum af_range_edge {
	AF_RANGE_PUSH = 1, /* begins, and ends with the next POP of the thread and domain */
	AF_RANGE_POP = 2,
	AF_RANGE_START = 3, /* begins, and ends with the END of the same range, on any thread */
	AF_RANGE_END = 4,
	AF_RANGE_MARK = 5
};

/* The domain of ranges and marks that came by aflame/region.h. */
#define AF_DOMAIN_REGIONS "aflame"

/* CUPTI's CUpti_ActivityOverheadKind, by name. On disk; names are what tables show. */
#define AF_OVERHEADS(O)                                                                            \
	O(1, DRIVER_COMPILER, "driver: compiling")                                                 \
	O(2, BUFFER_FLUSH, "flushing buffers")                                                     \
	O(3, INSTRUMENTATION, "instrumenting code")                                                \
	O(4, RESOURCE, "making tracing's own resources")                                           \
	O(5, LAZY_LOADING, "run-time loading of functions")                                        \
	O(6, COMMAND_BUFFER_FULL, "command buffer full")                                           \
	O(7, ACTIVITY_BUFFER, "asking for buffers")                                                \
	O(8, UVM, "unified memory")                                                                \
	O(9, OTHER, "other")

enum af_overhead {
#define AF_O(number, NAME, name) AF_OVERHEAD_##NAME = number,
	AF_OVERHEADS(AF_O)
#undef AF_O
	    AF_OVERHEAD_END
};

/* Where the names of a SYMBOL came from, or why it has none. On disk. */
#define AF_SYMBOL_SOURCES(S)                                                                       \
	S(1, SYMTAB, "symbol table")                                                               \
	S(2, DYNSYM, "dynamic symbol table only")                                                  \
	S(3, DWARF, "debug information")                                                           \
	S(4, JIT, "run-time compiler's map")                                                       \
	S(5, NO_FILE, "the file could not be opened")                                              \
	S(6, BUILD_ID, "the file is not the one that ran")                                         \
	S(7, NO_SYMBOL, "no symbol covers the address")                                            \
	S(8, NO_MODULE, "no file is mapped at the address")                                        \
	S(9, PLT, "procedure linkage table")                                                       \
	S(10, FDE, "unwind table: the function's start only")                                      \
	S(11, NO_MAP, "made at run time, without a map of its names")                              \
	S(12, GO, "list of functions that Go keeps (.gopclntab)")

enum af_symbol_source {
#define AF_S(number, NAME, meaning) AF_SYMBOL_##NAME = number,
	AF_SYMBOL_SOURCES(AF_S)
#undef AF_S
	    AF_SYMBOL_END
};

#define AF_PY_BORDER UINT64_MAX /* in PY_STACK frames */

/*
 * Marks a gap in the addresses of a STACK or the frames of a PY_STACK: this bit, plus the number of
 * frames left out of a very deep stack. No address of a program and no frame of Python has this
 * form. With the number 0 it is the leaf: a thread ended before a sample, and the frames beneath
 * its start are not known.
 */
#define AF_LEFT_OUT (UINT64_C(1) << 62)
#define AF_IS_LEFT_OUT(entry) ((uint64_t)(entry) >> 62 == 1)

/* Every sample has its reason. Samples in which no instruction was issued have a second one. */
enum af_stall_flag {
	/* Counts the samples of its namesake in which nothing was issued */
	AF_STALL_NOT_ISSUED = 1,
};

enum af_window_flag {
	AF_WINDOW_SERIALIZED = 1, /* one kernel at a time ran: each sample has its kernel's call */
	AF_WINDOW_FULL = 2,       /* the device's buffer was full, so samples are missing */
	AF_WINDOW_ADDRESS_32 = 4, /* the device gives the low 32 bits of addresses */
};

enum af_counter_flag {
	AF_COUNTER_AMOUNT = 1, /* amounts of their spans, which add up; else levels and means */
};

#endif
