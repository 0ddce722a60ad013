/*
 * The first program of the guest. It loads the kernel's modules, in the order of /modules/list;
 * mounts the host's files for reading (what is written in /tmp is not kept) and the folder $OUT for
 * writing; runs `/bin/sh $OUT/command` among them; writes its status to $OUT/status, and ends the
 * guest. $OUT is on the kernel's command line. Errors are printed to the console.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int status, const char *at)
{
	if (status >= 0)
		return;
	printf("guest: %s: %s\n", at, strerror(errno));
	fflush(stdout);
	sync();
	reboot(RB_AUTOBOOT);
}

static void mount_at(const char *source, const char *at, const char *type, unsigned long flags,
                     const char *options)
{
	mkdir(at, 0755);
	check(mount(source, at, type, flags, options), at);
}

/* modules.list has their names, one a line. */
static void modules_load(void)
{
	char name[256];
	FILE *list = fopen("/modules/list", "r");

	check(list ? 0 : -1, "/modules/list");
	while (fscanf(list, "%255s", name) == 1) {
		int fd = open(name, O_RDONLY | O_CLOEXEC);

		check(fd, name);
		check(syscall(SYS_finit_module, fd, "", 0), name);
		close(fd);
	}
	fclose(list);
}

static void host_enter(const char *out)
{
	char at[4096];

	mount_at("host", "/host", "9p", MS_RDONLY,
	         "trans=virtio,version=9p2000.L,cache=loose,msize=512000");
	check(chdir("/host"), "/host");
	mount_at("run", "run", "tmpfs", 0, NULL);
	check(mkdir("run/.tmp", 0700) | mkdir("run/.tmp-work", 0700), "run");
	check(mount("tmp", "tmp", "overlay", 0,
	            "lowerdir=tmp,upperdir=run/.tmp,workdir=run/.tmp-work"),
	      "tmp");
	snprintf(at, sizeof at, "/host%s", out);
	check(mount("out", at, "9p", 0, "trans=virtio,version=9p2000.L,msize=512000"), at);
	mount_at("dev", "dev", "devtmpfs", 0, NULL);
	mount_at("shm", "dev/shm", "tmpfs", 0, NULL);
	mount_at("pts", "dev/pts", "devpts", 0, NULL);
	mount_at("proc", "proc", "proc", 0, NULL);
	mount_at("sys", "sys", "sysfs", 0, NULL);
	mount_at("debug", "sys/kernel/debug", "debugfs", 0, NULL);
	mount_at("trace", "sys/kernel/tracing", "tracefs", 0, NULL);
	mount_at("cgroup", "sys/fs/cgroup", "cgroup2", 0, NULL);
	mount_at("bpf", "sys/fs/bpf", "bpf", 0, NULL);
	check(mount(".", "/", NULL, MS_MOVE, NULL), "move");
	check(chroot("."), "chroot");
	check(chdir("/run"), "/run");
}

int main(void)
{
	const char *out = getenv("OUT");
	char path[4096], text[16];
	int status = 0, fd;
	pid_t child;

	check(out && *out == '/' ? 0 : -1, "OUT");
	modules_load();
	host_enter(out);
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/run", 1);
	snprintf(path, sizeof path, "%s/command", out);
	child = fork();
	check(child, "fork");
	if (!child) {
		execl("/bin/sh", "sh", path, (char *)NULL);
		_exit(127);
	}
	while (wait(&status) != child)
		;
	snprintf(path, sizeof path, "%s/status", out);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	check(fd, path);
	snprintf(text, sizeof text, "%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128);
	check((int)write(fd, text, strlen(text)), path);
	close(fd);
	sync();
	reboot(RB_AUTOBOOT);
	return 0;
}
