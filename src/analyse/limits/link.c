/* PCIe links: how much they move. */
#include "analyse/limits/private.h"

/*
 * PCI Express Base Specification 6.0: transfers a second of a lane, a bit each, of which a byte is
 * 10 up to generation 2 (8b/10b), then 8 of 128/130, and of generation 6 on 8 of 242/256 (flits).
 */
double limits_link_bytes(double generation, double lanes)
{
	static const double lane[] = {0,
	                              2.5e9 / 10,
	                              5e9 / 10,
	                              8e9 / 8 * 128 / 130,
	                              16e9 / 8 * 128 / 130,
	                              32e9 / 8 * 128 / 130,
	                              64e9 / 8 * 242 / 256,
	                              128e9 / 8 * 242 / 256};
	/* A mean of several readings is of a link that changed: the larger one counts. */
	int whole = generation > 0 && generation < 7.01 ? (int)(generation + 0.99) : 0;

	return lanes > 0 && lanes < 64.01 ? lane[whole] * (double)(int)(lanes + 0.99) : 0;
}
