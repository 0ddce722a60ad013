/* Why there are no metrics, and the line that fixes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/proc.h"
#include "base/system/rights.h"
#include "collect/zet/private.h"

const char *zet_call_name(uint32_t call)
{
	static const char *const names[AF_ZET_NR_CALLS] = {
#define C(name, parameters) [AF_ZET_CALL_##name] = #name,
	    AF_ZET_CALLS(C)
#undef C
	};

	return call && call < AF_ZET_NR_CALLS ? names[call] : "";
}

const char *zet_result_name(uint32_t result)
{
	switch (result) {
#define R(number, NAME)                                                                            \
	case number:                                                                               \
		return #NAME;
		AF_ZET_RESULTS(R)
#undef R
	}
	return "";
}

void zet_why_missing(uint32_t missing, char *why, size_t size)
{
	*why = 0;
	if (missing & ZET_NO_LOADER)
		snprintf(why, size,
		         "no loader of Level Zero (libze_loader.so.1): apt install libze1");
	else if (missing & (ZET_NO_DISCOVERY | ZET_NO_LIBRARY))
		snprintf(why, size, "%s%s%s %s not installed: apt install%s%s",
		         missing & ZET_NO_DISCOVERY ? "libigdmd.so.1" : "",
		         missing == (ZET_NO_DISCOVERY | ZET_NO_LIBRARY) ? " and " : "",
		         missing & ZET_NO_LIBRARY ? "libigdml.so.1" : "",
		         missing == (ZET_NO_DISCOVERY | ZET_NO_LIBRARY) ? "are" : "is",
		         missing & ZET_NO_DISCOVERY ? " intel-metrics-discovery" : "",
		         missing & ZET_NO_LIBRARY ? " intel-metrics-library" : "");
}

/* The switch of the kernel's driver that keeps metrics for root; NULL where none does. */
static const char *paranoid_switch(void)
{
	static const char *const both[] = {"dev/xe/observation_paranoid",
	                                   "dev/i915/perf_stream_paranoid"};
	char path[64], text[8];

	for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
		snprintf(path, sizeof path, "/proc/sys/%s", both[i]);
		af_read_text(path, text, sizeof text);
		if (atoi(text) > 0 && geteuid())
			return strrchr(both[i], '/') == both[i] + 6
			           ? "dev.xe.observation_paranoid"
			           : "dev.i915.perf_stream_paranoid";
	}
	return NULL;
}

void zet_why_no_groups(char *why, size_t size)
{
	const char *gate = paranoid_switch();

	if (gate)
		snprintf(why, size,
		         "the driver has no metric groups: the kernel keeps metrics for root; run "
		         "`sysctl %s=0` as root",
		         gate);
	else
		snprintf(
		    why, size,
		    "the driver has no metric groups for this device, or another tool observes it");
}

/* More than the name of a result, where there is more to know. */
static void why_result(const struct zet_failed *f, uint32_t missing, char *why, size_t size)
{
	const char *gate = paranoid_switch();

	*why = 0;
	switch (f->result) {
	case AF_ZET_ERROR_DEPENDENCY_UNAVAILABLE:
		zet_why_missing(missing, why, size);
		if (!*why)
			snprintf(why, size, "a library that the driver needs is not installed");
		break;
	case AF_ZET_ERROR_UNINITIALIZED:
		snprintf(why, size,
		         "no driver finds a GPU that you may use: apt install libze-intel-gpu1 (or "
		         "intel-opencl-icd), and be in the group of /dev/dri/renderD*");
		break;
	case AF_ZET_ERROR_INSUFFICIENT_PERMISSIONS:
		snprintf(why, size, "the kernel refuses it to this user: run `sysctl %s=0` as root",
		         gate ? gate : "dev.xe.observation_paranoid");
		break;
	case AF_ZET_ERROR_HANDLE_OBJECT_IN_USE:
	case AF_ZET_ERROR_NOT_AVAILABLE:
		snprintf(why, size, "another tool observes this GPU: end it first");
		break;
	case AF_ZET_ERROR_UNKNOWN:
		if (f->call == AF_ZET_CALL_zetMetricStreamerOpen)
			snprintf(why, size,
			         "another tool may observe this GPU, or the kernel refuses it");
		else if (f->call == AF_ZET_CALL_zetMetricStreamerReadData)
			snprintf(why, size, "the GPU was reset, or is lost: see dmesg");
		break;
	case AF_ZET_ERROR_UNSUPPORTED_FEATURE:
		snprintf(why, size, "this driver, or its loader, does not have it");
		break;
	default:
		if (gate)
			snprintf(why, size,
			         "metrics may be for root only: run `sysctl %s=0` as root", gate);
	}
}

void zet_why(const struct zet_failed *f, uint32_t missing, char *why, size_t size)
{
	const char *name = zet_result_name(f->result);
	char more[300];

	why_result(f, missing, more, sizeof more);
	snprintf(why, size, "%s%s%s failed (%s%s0x%x)", more, *more ? "; " : "",
	         *zet_call_name(f->call) ? zet_call_name(f->call) : "the driver", name,
	         *name ? ", " : "", f->result);
}
