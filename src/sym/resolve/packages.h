/*
 * The Debian package that has the symbols of a stripped file, by dpkg's lists of installed files
 * (/var/lib/dpkg/info/PACKAGE[:ARCH].list, a path a line). Does not check whether an archive has
 * that package.
 */
#ifndef AF_SYM_RESOLVE_PACKAGES_H
#define AF_SYM_RESOLVE_PACKAGES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Call @each for every one of @nr absolute paths that a list below @root (NULL: here) has, with the
 * package, which lives during the call. The lists are read once for all.
 */
void af_packages_find(const char *root, const char *const *paths, uint32_t nr,
                      void (*each)(void *arg, const char *path, const char *package), void *arg);

/* Does neither the file at @path nor a debug file of it here have a symbol table? */
bool af_packages_wanted(const char *path);

#endif
