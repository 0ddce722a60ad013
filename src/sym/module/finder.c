#include "sym/module/finder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/scope.h"
#include "sym/module/fetch.h"

void af_found_close(struct af_found *f)
{
	af_file_unmap(&f->file);
	free(f->path);
	*f = (struct af_found){0};
}

static bool finder_has_id(const struct af_elf *e, const uint8_t *id, uint32_t len)
{
	uint8_t other[AF_ELF_BUILD_ID_MAX];

	return af_elf_build_id(e, other) == len && !memcmp(other, id, len);
}

static uint32_t finder_crc(const struct af_file *f)
{
	return (uint32_t)crc32_z(0, f->data, f->size);
}

/* Identifies the right file: by a build-id, else a CRC, else because it is there. */
struct finder_proof {
	const uint8_t *id;
	uint32_t id_len;
	const uint32_t *crc;
};

/* Take the file that is mapped in @f; 0, or -ESTALE and @f is empty again. */
static int finder_take(struct af_found *f, const struct finder_proof *proof)
{
	bool good = !af_elf_parse(&f->elf, f->file.data, f->file.size);

	if (good && proof->id_len)
		good = finder_has_id(&f->elf, proof->id, proof->id_len);
	else if (good && proof->crc)
		good = finder_crc(&f->file) == *proof->crc;
	if (good)
		return 0;
	af_found_close(f);
	return -ESTALE;
}

static int finder_try(struct af_found *f, const char *path, const struct finder_proof *proof)
{
	if (af_file_map(&f->file, path, NULL))
		return -ENOENT;
	int rc = finder_take(f, proof);
	if (!rc)
		f->path = af_xstrdup(path);
	return rc;
}

static int finder_try_path(const struct af_finder *finder, struct af_found *f, const char *path,
                           const struct finder_proof *proof)
{
	struct af_buf full = {0};

	if (*path != '/')
		return -ENOENT;
	af_buf_str(&full, finder->root ? finder->root : "");
	af_buf_str(&full, path);
	int rc = finder_try(f, full.data, proof);
	af_buf_free(&full);
	return rc;
}

static int finder_try_further(const struct af_finder *finder, struct af_found *f,
                              const struct finder_proof *proof)
{
	int worst = -ENOENT;

	for (uint32_t nth = 0; finder->further; nth++) {
		scope_close int fd = finder->further(finder->arg, nth);

		if (fd == AF_FINDER_END)
			break;
		if (fd < 0 || af_file_map_fd(&f->file, fd))
			continue;
		int rc = finder_take(f, proof);
		if (!rc)
			return 0;
		worst = rc;
	}
	return worst;
}

/* perf keeps what it recorded, by build-id (perf-buildid-cache(1)). */
static int finder_try_kept(const struct af_finder *finder, struct af_found *f,
                           const struct finder_proof *proof)
{
	struct af_buf b = {0};

	if (!finder->kept || proof->id_len < 2)
		return -ENOENT;
	af_buf_fmt(&b, "%s/.build-id/%02x/", finder->kept, proof->id[0]);
	for (uint32_t i = 1; i < proof->id_len; i++)
		af_buf_fmt(&b, "%02x", proof->id[i]);
	af_buf_str(&b, "/elf");
	int rc = finder_try(f, b.data, proof);
	af_buf_free(&b);
	return rc;
}

int af_finder_file(const struct af_finder *finder, struct af_found *f, const char *path,
                   bool trust_path, const uint8_t *id, uint32_t id_len)
{
	const struct finder_proof proof = {.id = id, .id_len = id_len};
	int rc, worst = -ENOENT;

	for (int turn = 0; turn < 3; turn++) {
		if (turn == 2)
			rc = finder_try_kept(finder, f, &proof);
		else if ((turn == 0) == finder->further_first)
			rc = finder_try_further(finder, f, &proof);
		else if (trust_path || id_len)
			rc = finder_try_path(finder, f, path, &proof);
		else
			rc = -ESTALE;
		if (!rc)
			return 0;
		worst = rc == -ESTALE ? rc : worst;
	}
	return worst;
}

bool af_finder_debug_by_id(const struct af_finder *finder, struct af_found *f, const uint8_t *id,
                           uint32_t id_len)
{
	const struct finder_proof proof = {.id = id, .id_len = id_len};
	struct af_buf b = {0};

	if (id_len < 2)
		return false;
	af_buf_fmt(&b, "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (uint32_t i = 1; i < id_len; i++)
		af_buf_fmt(&b, "%02x", id[i]);
	af_buf_str(&b, ".debug");
	int rc = finder_try_path(finder, f, b.data, &proof);
	af_buf_free(&b);
	if (rc && !af_fetch_debug(finder->fetch, id, id_len, &f->file)) {
		rc = finder_take(f, &proof);
		if (rc)
			af_fetch_refuse(finder->fetch);
	}
	return !rc;
}

/* The name and the checksum in .gnu_debuglink, NULL when there is no such name. */
static const char *finder_link(const struct af_elf *of, uint32_t *crc)
{
	Elf64_Shdr s;
	const char *name;

	if (!af_elf_named(of, ".gnu_debuglink", &s) || !(name = af_elf_string(of, &s, 0)))
		return NULL;
	uint64_t at = (strlen(name) + 1 + 3) & ~UINT64_C(3);
	if (!*name || strchr(name, '/') || at + sizeof *crc > s.sh_size)
		return NULL;
	memcpy(crc, af_elf_bytes(of, &s) + at, sizeof *crc);
	return name;
}

static bool finder_debug_by_link(const struct af_finder *finder, struct af_found *f,
                                 const char *path, const char *name,
                                 const struct finder_proof *proof)
{
	static const char *const patterns[] = {"%.*s%s", "%.*s.debug/%s", "/usr/lib/debug%.*s%s"};
	int directory = (int)(strrchr(path, '/') + 1 - path);
	struct af_buf b = {0};
	int rc = -ENOENT;

	for (size_t i = 0; rc && i < sizeof patterns / sizeof *patterns; i++) {
		b.len = 0;
		af_buf_fmt(&b, patterns[i], directory, path, name);
		rc = finder_try_path(finder, f, b.data, proof);
	}
	af_buf_free(&b);
	return !rc;
}

bool af_finder_debug(const struct af_finder *finder, struct af_found *f, const struct af_elf *of,
                     const char *path)
{
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	uint32_t crc = 0;
	const char *link = *path == '/' ? finder_link(of, &crc) : NULL;
	struct finder_proof proof = {.id = id, .id_len = af_elf_build_id(of, id), .crc = &crc};
	/* Files on this machine come before those of a server. */
	struct af_finder here = *finder;

	here.fetch = NULL;
	if (af_finder_debug_by_id(&here, f, id, proof.id_len))
		return true;
	if (link && finder_debug_by_link(finder, f, path, link, &proof))
		return true;
	return finder->fetch && af_finder_debug_by_id(finder, f, id, proof.id_len);
}

/* A name beside the file that has the link; @path is on this machine, root and all. */
static bool finder_try_beside(struct af_found *f, const char *path, const char *name,
                              const struct finder_proof *proof)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct af_buf b = {0};

	if (!slash)
		return false;
	af_buf_add(&b, path, (size_t)(slash + 1 - path));
	af_buf_str(&b, name);
	int rc = finder_try(f, b.data, proof);
	af_buf_free(&b);
	return !rc;
}

bool af_finder_alternate(const struct af_finder *finder, struct af_found *f,
                         const struct af_elf *of, const char *path)
{
	Elf64_Shdr s;
	const char *name;

	if (!af_elf_named(of, ".gnu_debugaltlink", &s) || !(name = af_elf_string(of, &s, 0)))
		return false;
	size_t at = strlen(name) + 1;
	struct finder_proof proof = {.id = af_elf_bytes(of, &s) + at,
	                             .id_len = (uint32_t)(s.sh_size - at)};
	if (!*name || s.sh_size - at > AF_ELF_BUILD_ID_MAX || proof.id_len < 2)
		return false;
	if (*name == '/')
		return !finder_try_path(finder, f, name, &proof) ||
		       af_finder_debug_by_id(finder, f, proof.id, proof.id_len);
	/* Debug files are often found through a link, and the name is from where they are. */
	scope_free char *real = path ? realpath(path, NULL) : NULL;
	return finder_try_beside(f, real, name, &proof) ||
	       finder_try_beside(f, path, name, &proof) ||
	       af_finder_debug_by_id(finder, f, proof.id, proof.id_len);
}
