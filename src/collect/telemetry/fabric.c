/*
 * Ports of fabrics, whose counters are files: InfiniBand (Linux, Documentation/ABI/stable/
 * sysfs-class-infiniband) and Slingshot (HPE's cxi driver: TELEMETRY files with "NUMBER@TIME").
 */
#include <stdio.h>
#include <string.h>

#include "collect/telemetry/private.h"

/* The specification counts data in words of four bytes. */
static const struct {
	const char *file, *name, *unit;
	uint64_t times;
} infiniband[] = {{"port_rcv_data", "received", "bytes", 4},
                  {"port_xmit_data", "sent", "bytes", 4},
                  {"port_rcv_packets", "packets received", "", 1},
                  {"port_xmit_packets", "packets sent", "", 1},
                  {"port_xmit_wait", "ticks that sending waited", "", 1},
                  {"port_xmit_discards", "packets dropped, out", "", 1},
                  {"port_rcv_errors", "packets in error, in", "", 1},
                  {"link_downed", "link went down", "", 1}},
  cxi[] = {{"hni_sts_rx_ok_octets", "received", "bytes", 1},
           {"hni_sts_tx_ok_octets", "sent", "bytes", 1},
           {"hni_pkts_recv_by_tc_0", "packets received, class 0", "", 1},
           {"hni_pkts_sent_by_tc_0", "packets sent, class 0", "", 1},
           {"hni_rx_paused_0", "ticks paused, in", "", 1},
           {"hni_tx_paused_0", "ticks paused, out", "", 1},
           {"hni_pcs_corrected_cw", "codewords corrected", "", 1},
           {"hni_pcs_uncorrected_cw", "codewords lost", "", 1},
           {"pct_spt_timeouts", "packets timed out", "", 1}};

enum {
	NR_INFINIBAND = sizeof infiniband / sizeof *infiniband,
	NR_CXI = sizeof cxi / sizeof *cxi,
};

static void counter_add(struct telemetry_source *s, const char *path, const char *file,
                        const char *device, const char *name, const char *unit, uint64_t times)
{
	char from[900], title[160];

	snprintf(from, sizeof from, "%s/%s", path, file);
	snprintf(title, sizeof title, "%s %s", device, name);
	telemetry_add_file(s, &(struct telemetry_file){.path = from, .times = times}, 0,
	                   AF_COUNTER_AMOUNT, 1, title, unit, device);
}

static void port_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                      const char *path, const char *port)
{
	char counters[800], device[96];
	const char *of = path + strlen(roots->sys) + strlen("/class/infiniband/");

	snprintf(counters, sizeof counters, "%s/counters", path);
	snprintf(device, sizeof device, "%.*s port %s", (int)strcspn(of, "/"), of, port);
	for (int i = 0; i < NR_INFINIBAND; i++)
		counter_add(s, counters, infiniband[i].file, device, infiniband[i].name,
		            infiniband[i].unit, infiniband[i].times);
}

static void infiniband_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                            const char *path, const char *name)
{
	char ports[800];
	(void)name;

	snprintf(ports, sizeof ports, "%s/ports", path);
	telemetry_each(s, roots, ports, "", port_take);
}

static void cxi_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                     const char *path, const char *name)
{
	char counters[800];
	(void)roots;

	snprintf(counters, sizeof counters, "%s/device/telemetry", path);
	for (int i = 0; i < NR_CXI; i++)
		counter_add(s, counters, cxi[i].file, name, cxi[i].name, cxi[i].unit, cxi[i].times);
}

void telemetry_fabric_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	char folder[300];

	snprintf(folder, sizeof folder, "%s/class/infiniband", roots->sys);
	telemetry_each(s, roots, folder, "", infiniband_take);
	snprintf(folder, sizeof folder, "%s/class/cxi", roots->sys);
	telemetry_each(s, roots, folder, "cxi", cxi_take);
}
