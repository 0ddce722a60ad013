/* The table `energy`: what each kernel took, by who launched it. */
#ifndef AF_ANALYSE_ENERGY_ENERGY_H
#define AF_ANALYSE_ENERGY_ENERGY_H

#include "analyse/table/table.h"

#define AF_ENERGY_IDLE "[idle]" /* the device took this while nothing ran */
#define AF_ENERGY_CPU_IDLE                                                                         \
	"[idle, or other programs]" /* CPUs took this while no sampled thread of the trace ran */

#define AF_ENERGY_COLUMNS(C)                                                                       \
	C(energy_j, "Energy", AF_CELL_NUMBER)                                                      \
	C(error_j, "±", AF_CELL_NUMBER) /* docs/telemetry.md has the formula */                    \
	C(unit, "Unit", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                       \
	C(share_percent, "Of device", AF_CELL_PERCENT, .merge = AF_MERGE_MEAN, .of = "time_ns")    \
	C(power_w, "Power, W", AF_CELL_NUMBER, .merge = AF_MERGE_MEAN, .of = "time_ns")            \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(works, "Launches", AF_CELL_COUNT)                                                        \
	C(apportioned_percent, "Apportioned", AF_CELL_PERCENT, .merge = AF_MERGE_MEAN,             \
	  .of = "time_ns")                                                                         \
	C(kernel, "Kernel", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(caller, "Launched by", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                              \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_USED)
struct af_energy_row {
	AF_ENERGY_COLUMNS(AF_ROW_CELL)
};

#endif
