/* Rows of the tally's tables: each member is a cell, and its name the key of its column. */
#ifndef AF_ANALYSE_TALLY_COLUMNS_H
#define AF_ANALYSE_TALLY_COLUMNS_H

#include "analyse/table/table.h"

/* Times are of calls that worked. The last columns say whose calls a row has, if of one. */
#define AF_API_COLUMNS(C)                                                                          \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(driver, "Driver", AF_CELL_TEXT, AF_SHOW_USED)                                            \
	C(api, "API", AF_CELL_TEXT, AF_SHOW_NEVER)                                                 \
	C(time_ns, "Time", AF_CELL_NS, AF_SHOW_USED)                                               \
	C(share, "Share", AF_CELL_PERCENT, AF_SHOW_USED)                                           \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(mean_ns, "Mean", AF_CELL_NS, AF_SHOW_USED)                                               \
	C(min_ns, "Min", AF_CELL_NS, AF_SHOW_USED)                                                 \
	C(p50_ns, "Median", AF_CELL_NS, AF_SHOW_NEVER)                                             \
	C(p95_ns, "95 %", AF_CELL_NS, AF_SHOW_NEVER)                                               \
	C(p99_ns, "99 %", AF_CELL_NS, AF_SHOW_NEVER)                                               \
	C(max_ns, "Max", AF_CELL_NS, AF_SHOW_USED)                                                 \
	C(failed, "Failed", AF_CELL_COUNT, AF_SHOW_USED)                                           \
	C(category, "To", AF_CELL_TEXT, AF_SHOW_USED)                                              \
	C(host, "Host", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(rank, "Rank", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_NEVER)                                         \
	C(thread, "Thread", AF_CELL_TEXT, AF_SHOW_NEVER)                                           \
	C(bytes, "Bytes", AF_CELL_BYTES, AF_SHOW_NEVER) /* moved or allocated */
struct af_api_row {
	AF_API_COLUMNS(AF_ROW_CELL)
};

#define AF_TRAFFIC_COLUMNS(C)                                                                      \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(api, "API", AF_CELL_TEXT, AF_SHOW_NEVER)                                                 \
	C(bytes, "Bytes", AF_CELL_BYTES)                                                           \
	C(share, "Share", AF_CELL_PERCENT)                                                         \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(mean_bytes, "Mean", AF_CELL_BYTES)                                                       \
	C(min_bytes, "Min", AF_CELL_BYTES)                                                         \
	C(p50_bytes, "Median", AF_CELL_BYTES, AF_SHOW_NEVER)                                       \
	C(p95_bytes, "95 %", AF_CELL_BYTES, AF_SHOW_NEVER)                                         \
	C(p99_bytes, "99 %", AF_CELL_BYTES, AF_SHOW_NEVER)                                         \
	C(max_bytes, "Max", AF_CELL_BYTES)                                                         \
	C(host, "Host", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(rank, "Rank", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_NEVER)                                         \
	C(thread, "Thread", AF_CELL_TEXT, AF_SHOW_NEVER)
struct af_traffic_row {
	AF_TRAFFIC_COLUMNS(AF_ROW_CELL)
};

#define AF_TALLY_COLUMNS(C)                                                                        \
	C(apis, "APIs", AF_CELL_TEXT)                                                              \
	C(hosts, "Hosts", AF_CELL_COUNT)                                                           \
	C(processes, "Processes", AF_CELL_COUNT)                                                   \
	C(threads, "Threads", AF_CELL_COUNT)                                                       \
	C(devices, "Devices", AF_CELL_COUNT)                                                       \
	C(open_calls, "Calls that did not return", AF_CELL_COUNT, AF_SHOW_USED)                    \
	C(lost_events, "Events lost", AF_CELL_COUNT, AF_SHOW_USED)                                 \
	C(unknown_calls, "Calls of unknown functions", AF_CELL_COUNT, AF_SHOW_USED)
struct af_tally_total_row {
	AF_TALLY_COLUMNS(AF_ROW_CELL)
};

#endif
