/* src/collect/zet/abi.h has the sizes, offsets and numbers of Level Zero's headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/zet/abi.h"

#if __has_include(<level_zero/zet_api.h>)
#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#define SAME_SIZE(ours, theirs) assert_int_equal(sizeof(struct ours), sizeof(theirs))
#define SAME(ours, our, theirs, their)                                                             \
	do {                                                                                       \
		assert_int_equal(offsetof(struct ours, our), offsetof(theirs, their));             \
		assert_int_equal(sizeof(((struct ours *)0)->our), sizeof(((theirs *)0)->their));   \
	} while (0)

static void numbers_are_the_headers(void **state)
{
	(void)state;
#define R(number, NAME) assert_int_equal(number, ZE_RESULT_##NAME);
	AF_ZET_RESULTS(R)
#undef R
#define T(number, name, NAME) assert_int_equal(number, ZET_METRIC_TYPE_##NAME);
	AF_ZET_TYPES(T)
#undef T
#define T(number, name, NAME) assert_int_equal(number, ZET_VALUE_TYPE_##NAME);
	AF_ZET_VALUES(T)
#undef T
	assert_int_equal(AF_ZET_IS_DEVICE, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
	assert_int_equal(AF_ZET_IS_CONTEXT, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
	assert_int_equal(AF_ZET_IS_EVENT_POOL, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
	assert_int_equal(AF_ZET_IS_EVENT, ZE_STRUCTURE_TYPE_EVENT_DESC);
	assert_int_equal(AF_ZET_IS_PCI, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
	assert_int_equal(AF_ZET_IS_GROUP, ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES);
	assert_int_equal(AF_ZET_IS_METRIC, ZET_STRUCTURE_TYPE_METRIC_PROPERTIES);
	assert_int_equal(AF_ZET_IS_STREAMER, ZET_STRUCTURE_TYPE_METRIC_STREAMER_DESC);
	assert_int_equal(AF_ZET_POOL_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
	assert_int_equal(AF_ZET_SCOPE_HOST, ZE_EVENT_SCOPE_FLAG_HOST);
	assert_int_equal(AF_ZET_EVENT_BASED, ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED);
	assert_int_equal(AF_ZET_TIME_BASED, ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED);
	assert_int_equal(AF_ZET_METRIC_VALUES, ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES);
	assert_int_equal(AF_ZET_TEXT, ZE_MAX_DEVICE_NAME);
	assert_int_equal(AF_ZET_TEXT, ZET_MAX_METRIC_GROUP_NAME);
	assert_int_equal(AF_ZET_TEXT, ZET_MAX_METRIC_RESULT_UNITS);
}

static void structures_of_the_core_are_the_headers(void **state)
{
	(void)state;
	SAME_SIZE(zet_device_properties, ze_device_properties_t);
	SAME(zet_device_properties, is, ze_device_properties_t, stype);
	SAME(zet_device_properties, next, ze_device_properties_t, pNext);
	SAME(zet_device_properties, type, ze_device_properties_t, type);
	SAME(zet_device_properties, vendor, ze_device_properties_t, vendorId);
	SAME(zet_device_properties, device, ze_device_properties_t, deviceId);
	SAME(zet_device_properties, clock_mhz, ze_device_properties_t, coreClockRate);
	SAME(zet_device_properties, subslices_slice, ze_device_properties_t, numSubslicesPerSlice);
	SAME(zet_device_properties, slices, ze_device_properties_t, numSlices);
	SAME(zet_device_properties, uuid, ze_device_properties_t, uuid);
	SAME(zet_device_properties, name, ze_device_properties_t, name);
	SAME_SIZE(zet_pci_properties, ze_pci_ext_properties_t);
	SAME(zet_pci_properties, domain, ze_pci_ext_properties_t, address.domain);
	SAME(zet_pci_properties, function, ze_pci_ext_properties_t, address.function);
	SAME_SIZE(zet_context_desc, ze_context_desc_t);
	SAME(zet_context_desc, flags, ze_context_desc_t, flags);
	SAME_SIZE(zet_event_pool_desc, ze_event_pool_desc_t);
	SAME(zet_event_pool_desc, flags, ze_event_pool_desc_t, flags);
	SAME(zet_event_pool_desc, nr, ze_event_pool_desc_t, count);
	SAME_SIZE(zet_event_desc, ze_event_desc_t);
	SAME(zet_event_desc, index, ze_event_desc_t, index);
	SAME(zet_event_desc, signal, ze_event_desc_t, signal);
#ifdef ZE_DEVICE_IP_VERSION_EXT_NAME
	SAME_SIZE(zet_ip_version, ze_device_ip_version_ext_t);
	SAME(zet_ip_version, version, ze_device_ip_version_ext_t, ipVersion);
	assert_int_equal(AF_ZET_IS_IP_VERSION, ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT);
#endif
}

static void structures_of_the_tools_are_the_headers(void **state)
{
	(void)state;
	SAME_SIZE(zet_group_properties, zet_metric_group_properties_t);
	SAME(zet_group_properties, name, zet_metric_group_properties_t, name);
	SAME(zet_group_properties, description, zet_metric_group_properties_t, description);
	SAME(zet_group_properties, sampling, zet_metric_group_properties_t, samplingType);
	SAME(zet_group_properties, domain, zet_metric_group_properties_t, domain);
	SAME(zet_group_properties, nr_metrics, zet_metric_group_properties_t, metricCount);
	SAME_SIZE(zet_metric_properties, zet_metric_properties_t);
	SAME(zet_metric_properties, name, zet_metric_properties_t, name);
	SAME(zet_metric_properties, description, zet_metric_properties_t, description);
	SAME(zet_metric_properties, component, zet_metric_properties_t, component);
	SAME(zet_metric_properties, tier, zet_metric_properties_t, tierNumber);
	SAME(zet_metric_properties, type, zet_metric_properties_t, metricType);
	SAME(zet_metric_properties, value_type, zet_metric_properties_t, resultType);
	SAME(zet_metric_properties, units, zet_metric_properties_t, resultUnits);
	SAME_SIZE(zet_streamer_desc, zet_metric_streamer_desc_t);
	SAME(zet_streamer_desc, notify_reports, zet_metric_streamer_desc_t, notifyEveryNReports);
	SAME(zet_streamer_desc, period_ns, zet_metric_streamer_desc_t, samplingPeriod);
	SAME_SIZE(zet_typed_value, zet_typed_value_t);
	SAME(zet_typed_value, type, zet_typed_value_t, type);
	SAME(zet_typed_value, value, zet_typed_value_t, value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_the_headers),
	    cmocka_unit_test(structures_of_the_core_are_the_headers),
	    cmocka_unit_test(structures_of_the_tools_are_the_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void headers_are_here(void **state)
{
	(void)state;
	print_message("no headers of Level Zero: apt install libze-dev\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(headers_are_here)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
