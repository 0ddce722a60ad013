#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/bpf/cgroup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check(const char *cgroup, const char *want)
{
	char name[64] = "";

	assert_int_equal(af_container_name(cgroup, name, sizeof name), want != NULL);
	assert_string_equal(name, want ? want : "");
}

static void containers_are_named_after_engine_and_id(void **state)
{
	(void)state;
	check("/system.slice/docker-" ID ".scope", "docker:0123456789ab");
	check("/docker/" ID, "docker:0123456789ab");
	check("/machine.slice/libpod-" ID ".scope/container", "podman:0123456789ab");
	check("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7.slice/"
	      "cri-containerd-" ID ".scope",
	      "containerd:0123456789ab");
	check("/kubepods/besteffort/pod1c2d3e4f-5a6b-7c8d-9e0f-123456789abc/" ID,
	      "k8s:0123456789ab");
	check("/system.slice/something-" ID ".scope", "container:0123456789ab");
}

static void what_has_no_id_is_no_container(void **state)
{
	(void)state;
	check("/", NULL);
	check("", NULL);
	check("/user.slice/user-1000.slice/session-3.scope", NULL);
	check("/system.slice/docker.service", NULL);
	check("/docker/0123456789abcdef0123456789abcdef", NULL); /* too short */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(containers_are_named_after_engine_and_id),
	    cmocka_unit_test(what_has_no_id_is_no_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
