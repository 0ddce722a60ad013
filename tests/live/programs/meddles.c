/*
 * meddles HOW [USER]: a recorded process damages the recording of others.
 *
 *	page USER	becomes USER, then writes over each page of the session that it has mapped
 *			or can make writable
 *	file		opens the session's `control` by its name and ends the recording (its magic
 *			is left, all that follows is set to 1)
 *	rings		cuts all files of streams in the session's directory
 *
 * It prints "wrote FILE" for each file that it wrote to. It acts once, 0.3 s after it began.
 *
 * Exit status: 0, or 1 when it could not even try.
 */
#include "burn.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void give_up(int signo)
{
	(void)signo;
	_exit(0);
}

/* All but the first words, so that it looks like what it is. */
static void write_over(char *page)
{
	memset(page + 64, 1, PAGE - 64);
}

static int pages(void)
{
	static char line[4096];
	struct {
		unsigned long start;
		char name[64];
	} found[64];
	int nr = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof line, f) && nr < 64) {
		char *name = strstr(line, "/dev/shm/aflame.");
		const char *slash = name ? strrchr(name, '/') : NULL;
		if (!slash || (slash[1] != 'c'))
			continue;
		found[nr].start = strtoul(line, NULL, 16);
		snprintf(found[nr].name, sizeof found[nr].name, "%.*s",
		         (int)strcspn(slash + 1, " \n"), slash + 1);
		nr++;
	}
	if (!nr)
		return 1;
	for (int i = 0; i < nr; i++) {
		void *at = (void *)found[i].start;
		if (mprotect(at, PAGE, PROT_READ | PROT_WRITE))
			continue;
		write_over(at);
		printf("wrote %s\n", found[i].name);
	}
	return 0;
}

/* $AFLAME_SESSION is the directory, and may have more behind a colon. */
static const char *session(void)
{
	static char dir[256];
	const char *named = getenv("AFLAME_SESSION");

	if (!named)
		return NULL;
	snprintf(dir, sizeof dir, "%.*s", (int)strcspn(named, ":"), named);
	return dir;
}

static int file(void)
{
	char path[300];

	snprintf(path, sizeof path, "%s/control", session());
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return 1;
	write_over(page);
	puts("wrote control");
	return 0;
}

static int rings(void)
{
	char path[600];
	DIR *dir = opendir(session());
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof path, "%s/%s", session(), e->d_name);
		if (e->d_name[0] != 's' || access(path, W_OK))
			continue;
		/* First, as one of them is our own. */
		printf("wrote %s\n", e->d_name);
		fflush(stdout);
		if (truncate(path, PAGE))
			return 1;
	}
	return !dir;
}

int main(int argc, char **argv)
{
	const struct timespec nap = {.tv_nsec = 300000000};
	int rc = 1;

	if (argc < 2 || !session())
		return 1;
	nanosleep(&nap, NULL);
	signal(SIGBUS, give_up); /* our own stream is cut, too */
	if (!strcmp(argv[1], "page") && argc == 3 && !setuid((uid_t)atoi(argv[2])))
		rc = pages();
	else if (!strcmp(argv[1], "file"))
		rc = file();
	else if (!strcmp(argv[1], "rings"))
		rc = rings();
	fflush(stdout);
	return rc;
}
