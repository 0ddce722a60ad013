/* Under sudo, a trace belongs to the user who called sudo, who could not even read it otherwise. */
#include "cmd/record/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/rights.h"

enum { DEPTH_MOST = 4 }; /* of folders in a trace */

static void give_file(int dirfd, const char *name, uid_t uid, gid_t gid)
{
	struct stat st;

	/* One with a second name may be anything. */
	if (!fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) && !st.st_uid &&
	    st.st_nlink == 1)
		(void)!fchownat(dirfd, name, uid, gid, AT_SYMLINK_NOFOLLOW);
}

static int folder_open(int dirfd, const char *name)
{
	return openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Takes @fd. Files come first: as long as the folder is root's, nobody changes its entries. */
static void give_folder(int fd, uid_t uid, gid_t gid, int depth)
{
	struct stat st;
	DIR *d = fdopendir(fd);

	if (!d) {
		close(fd);
		return;
	}
	if (fstat(dirfd(d), &st) || st.st_uid) {
		closedir(d);
		return;
	}
	for (const struct dirent *e; (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		int inner = depth ? folder_open(dirfd(d), e->d_name) : -1;
		if (inner >= 0)
			give_folder(inner, uid, gid, depth - 1);
		else
			give_file(dirfd(d), e->d_name, uid, gid);
	}
	(void)!fchown(dirfd(d), uid, gid);
	closedir(d);
}

void af_sudo_owner_give(const char *dir)
{
	uid_t uid;
	gid_t gid;
	int fd = af_sudo_user(&uid, &gid) ? folder_open(AT_FDCWD, dir) : -1;

	if (fd >= 0)
		give_folder(fd, uid, gid, DEPTH_MOST);
}
