/* Finds Intel GPUs below directories of the test, and chooses rates. No driver answers here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/fs.h"
#include "collect/xe/cards.h"

static char root[64], dri[80], drm[80];
static struct af_xe_roots roots;

static void path_make(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void link_make(const char *name, const char *to)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", root, name);
	assert_int_equal(symlink(to, path), 0);
}

static void file_make(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", root, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int machine_make(void **state)
{
	(void)state;
	strcpy(root, "/tmp/aflame-xe-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(dri, sizeof dri, "%s/dri", root);
	snprintf(drm, sizeof drm, "%s/drm", root);
	roots = (struct af_xe_roots){dri, drm, root};
	path_make("dri");
	path_make("drm");
	path_make("drm/renderD128");
	path_make("0000:03:00.0");
	link_make("drm/renderD128/device", "../../0000:03:00.0");
	return 0;
}

static int machine_remove(void **state)
{
	(void)state;
	return af_remove_tree(root);
}

static uint32_t found(enum af_xe_driver driver, struct af_xe_card *first)
{
	struct af_xe_cards cards;

	af_xe_cards_find(&cards, &roots, driver);
	uint32_t nr = cards.nr;
	if (nr && first)
		*first = cards.all[0];
	af_xe_cards_free(&cards);
	return nr;
}

static void without_a_directory_there_is_none(void **state)
{
	(void)state;
	roots.dri = "/nonexistent/dri";
	assert_int_equal(found(AF_XE_DRIVER_XE, NULL), 0);
}

/* The driver's call is no call of a file. */
static void files_are_no_devices(void **state)
{
	(void)state;
	file_make("dri/renderD128", "");
	file_make("dri/card0", "");
	file_make("dri/renderD129-with-a-name-that-no-kernel-gives-to-a-node", "");
	assert_int_equal(found(AF_XE_DRIVER_XE, NULL), 0);
	assert_int_equal(found(AF_XE_DRIVER_I915, NULL), 0);
}

/* A node that may not be opened, or not any more, is named if sysfs tells whose it is. */
static void nodes_that_do_not_open_are_named(void **state)
{
	struct af_xe_card card;

	(void)state;
	link_make("dri/renderD128", "gone");
	assert_int_equal(found(AF_XE_DRIVER_XE, NULL), 0);
	link_make("0000:03:00.0/driver", "../bus/pci/drivers/xe");
	link_make("0000:03:00.0/subsystem", "../bus/pci");
	file_make("0000:03:00.0/device", "0xe20b\n");
	assert_int_equal(found(AF_XE_DRIVER_XE, &card), 1);
	assert_true(card.error < 0);
	assert_non_null(strstr(card.why, "cannot be opened"));
	assert_string_equal(card.pci, "0000:03:00.0");
	assert_int_equal(card.device_id, 0xe20b);
	assert_int_equal(found(AF_XE_DRIVER_I915, NULL), 0);
}

static struct af_xe_card card_of(uint32_t max_mhz, uint32_t nr_xecores)
{
	struct af_xe_card card = {.nr_gts = 1, .max_mhz = max_mhz, .nr_rates = 7};

	card.gts[0].nr_xecores = nr_xecores;
	for (uint32_t i = 0; i < 7; i++)
		card.rates[i] = 251 * (i + 1);
	return card;
}

static void the_slowest_rate_that_suffices_is_chosen(void **state)
{
	struct af_xe_card card = card_of(2000, 10); /* 2e10 cycles a second, over all */

	(void)state;
	assert_int_equal(af_xe_samples_second(&card, 1000), 20000000);
	assert_int_equal(af_xe_period(&card, 1), 1757);
	assert_int_equal(af_xe_period(&card, 11000000), 1757);
	assert_int_equal(af_xe_period(&card, 12000000), 1506);
	assert_int_equal(af_xe_period(&card, 79000000), 251);
	assert_int_equal(af_xe_period(&card, 1000000000), 251);
	assert_int_equal(af_xe_period(&card, 0), 1004);
}

static void without_a_clock_it_is_the_usual_rate(void **state)
{
	struct af_xe_card slow = card_of(0, 10), unknown = card_of(2000, 0);

	(void)state;
	assert_int_equal(af_xe_period(&slow, 5000000), 1004);
	assert_int_equal(af_xe_period(&unknown, 5000000), 1004);
	slow.nr_rates = 1;
	assert_int_equal(af_xe_period(&slow, 5000000), 251);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(without_a_directory_there_is_none, machine_make,
	                                    machine_remove),
	    cmocka_unit_test_setup_teardown(files_are_no_devices, machine_make, machine_remove),
	    cmocka_unit_test_setup_teardown(nodes_that_do_not_open_are_named, machine_make,
	                                    machine_remove),
	    cmocka_unit_test(the_slowest_rate_that_suffices_is_chosen),
	    cmocka_unit_test(without_a_clock_it_is_the_usual_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
