#include "collect/disk/job.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/err.h"
#include "base/system/proc.h"
#include "trace/write/rank.h"

enum { ANCESTORS_MAX = 64, ENVIRON_BYTES = 1 << 18 };

/* Only what a file name can have, and no dot at its beginning. */
static void key_add(struct af_job_rank *job, const char *text)
{
	size_t len = strlen(job->key);

	for (; *text && len + 1 < sizeof job->key; text++) {
		bool fits =
		    isalnum((unsigned char)*text) || (len && strchr("._@+=:,-", *text) != NULL);
		job->key[len++] = fits ? *text : '_';
	}
	job->key[len] = 0;
}

static void key_set(struct af_job_rank *job, const char *launcher, const char *one, const char *two)
{
	job->key[0] = 0;
	key_add(job, launcher);
	key_add(job, "-");
	key_add(job, one);
	if (two && *two) {
		key_add(job, ".");
		key_add(job, two);
	}
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* The ids that launchers give their jobs, each beside the rank that it belongs to. */
static const struct job_id {
	const char *launcher, *rank, *id, *more;
} job_ids[] = {
    /* Open MPI's own namespace is a hash of 16 bits: its random key tells jobs apart. */
    {"pmix", "PMIX_RANK", "PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"},
    {"pals", "PALS_RANKID", "PALS_APID", NULL},
    {"flux", "FLUX_TASK_RANK", "FLUX_JOB_ID", NULL},
    {"slurm", "SLURM_PROCID", "SLURM_JOB_ID", "SLURM_STEP_ID"},
};

/*
 * Steps that are no launch of ranks (a batch script, an interactive one) have ids from 2^32 - 6 on.
 */
static bool slurm_has_step(void)
{
	const char *step = variable("SLURM_STEP_ID");

	return step && strtoull(step, NULL, 10) < UINT32_MAX - 15;
}

static bool key_by_id(struct af_job_rank *job)
{
	for (size_t i = 0; i < sizeof job_ids / sizeof *job_ids; i++) {
		const struct job_id *j = &job_ids[i];
		const char *rank = variable(j->rank), *id = variable(j->id);
		if (!id || !rank || strcmp(rank, job->rank) ||
		    (!strcmp(j->rank, "SLURM_PROCID") && !slurm_has_step()))
			continue;
		key_set(job, j->launcher, id, j->more ? variable(j->more) : NULL);
		return true;
	}
	return false;
}

static bool key_by_master(struct af_job_rank *job)
{
	const char *address = variable("MASTER_ADDR");

	if (!address)
		return false;
	key_set(job, "torchrun", address, variable("MASTER_PORT"));
	return true;
}

/* An ancestor as /proc tells it. */
struct ancestor {
	int pid, parent;
	unsigned long long start; /* in ticks since the machine started */
};

static bool ancestor_read(struct ancestor *a, int pid)
{
	char text[1024];

	a->pid = pid;
	if (pid <= 0 || !af_proc_read(pid, "stat", text, sizeof text))
		return false;
	/* The name in brackets may hold anything. */
	const char *rest = strrchr(text, ')');
	return rest && sscanf(rest + 1,
	                      " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
	                      "%*d %*d %*d %llu",
	                      &a->parent, &a->start) == 2;
}

/* Was it started as the same rank: a shell or another wrapper between the launcher and us? */
static bool ancestor_is_rank(int pid, const char *name, const char *rank)
{
	char *block = malloc(ENVIRON_BYTES);
	size_t size = block ? af_proc_read(pid, "environ", block, ENVIRON_BYTES) : 0;
	const char *value = size ? af_rank_variable(block, size, name) : NULL;
	bool is = value && !strcmp(value, rank);

	free(block);
	return is;
}

static bool launcher_find(struct ancestor *a, const char *name, const char *rank)
{
	if (!ancestor_read(a, getppid()))
		return false;
	for (int i = 0; i < ANCESTORS_MAX && a->parent > 0; i++) {
		struct ancestor above;
		if (!ancestor_is_rank(a->pid, name, rank) || !ancestor_read(&above, a->parent))
			break;
		*a = above;
	}
	return true;
}

/* The word behind @name in @words, which end in a NUL each. */
static const char *word_after(const char *words, size_t size, const char *name)
{
	for (const char *w = words; w < words + size; w += strlen(w) + 1) {
		const char *next = w + strlen(w) + 1;
		if (!strcmp(w, name) && next < words + size)
			return next;
	}
	return NULL;
}

/* Hydra has a proxy on each host; all of them get the address at which its mpiexec listens. */
static bool key_by_hydra(struct af_job_rank *job, const struct ancestor *launcher)
{
	char words[4096];
	size_t size = af_proc_read(launcher->pid, "cmdline", words, sizeof words);

	if (!size || !strstr(words, "hydra"))
		return false;
	const char *port = word_after(words, size, "--control-port");
	const char *host = port ? NULL : word_after(words, size, "--upstream-host");
	const char *group = word_after(words, size, "--pgid");
	if (host)
		port = word_after(words, size, "--upstream-port");
	if (!port)
		return false;
	key_set(job, "hydra", host ? host : port, host ? port : NULL);
	if (group) {
		key_add(job, ".");
		key_add(job, group);
	}
	return true;
}

static void key_by_process(struct af_job_rank *job, const struct ancestor *launcher)
{
	char boot[AF_BOOT_ID_SIZE], text[160];

	af_boot_id(boot);
	snprintf(text, sizeof text, "%d.%llu.%.8s", launcher->pid, launcher->start, boot);
	key_set(job, "process", job->host, text);
}

/*
 * torchrun's id is "none" where nobody gave one. Its hosts then agree on nothing but the address
 * where they meet; on one host the process tells runs apart.
 */
static bool key_by_torchrun(struct af_job_rank *job, const char *id)
{
	const char *world = variable("WORLD_SIZE"), *local = variable("LOCAL_WORLD_SIZE");

	if (id && strcmp(id, "none") != 0) {
		key_set(job, "torchrun", id, NULL);
		return true;
	}
	return !(world && local && !strcmp(world, local)) && key_by_master(job);
}

static void job_key(struct af_job_rank *job, const char *name)
{
	const char *torchrun = variable("TORCHELASTIC_RUN_ID");
	bool torch = !strcmp(name, "RANK");
	struct ancestor launcher = {.pid = getppid()};
	bool found = launcher_find(&launcher, name, job->rank);

	/* Before the ids of others: Hydra's mpiexec and torchrun may run in a step of Slurm's,
	 * whose rank 0 all below it have inherited. */
	if (torch && torchrun ? key_by_torchrun(job, torchrun)
	                      : found && key_by_hydra(job, &launcher))
		return;
	if (!(torch && torchrun) && key_by_id(job))
		return;
	if (!(torch && !torchrun && key_by_torchrun(job, NULL)))
		key_by_process(job, &launcher);
}

void af_job_find(struct af_job_rank *job)
{
	char host[sizeof job->host] = "";
	const char *name = NULL, *rank = af_rank_own_named(&name);

	*job = (struct af_job_rank){.rank = "none", .key = "none"};
	gethostname(host, sizeof host - 1);
	snprintf(job->host, sizeof job->host, "%s", *host ? host : "localhost");
	for (char *c = job->host; *c; c++)
		if (!isalnum((unsigned char)*c) && (c == job->host || !strchr("._-", *c)))
			*c = '_';
	if (!rank || (!strcmp(name, "SLURM_PROCID") && !slurm_has_step()))
		return;
	job->is_rank = true;
	snprintf(job->rank, sizeof job->rank, "%s", rank);
	job_key(job, name);
	const char *restarts = strcmp(name, "RANK") ? NULL : variable("TORCHELASTIC_RESTART_COUNT");
	if (restarts)
		af_digits(restarts, &job->restarts);
}

int af_job_name(char *name, size_t size, const char *pattern, const struct af_job_rank *job,
                struct af_err *err)
{
	char pid[16];
	size_t len = 0;
	int found = 0;

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	for (const char *p = pattern; *p; p++) {
		char plain[2] = {*p, 0};
		const char *part = plain;
		if (*p == '%') {
			found = 1;
			p++;
			part = *p == 'h'   ? job->host
			       : *p == 'r' ? job->rank
			       : *p == 'p' ? pid
			       : *p == 'j' ? job->key
			       : *p == '%' ? "%"
			                   : NULL;
		}
		if (!part)
			return af_fail_plain(err, -EINVAL,
			                     "a name may have %%h (host), %%r (rank), %%p (process "
			                     "id), %%j (job) and %%%%, and \"%s\" has another %%",
			                     pattern);
		size_t more = strlen(part);
		if (len + more >= size)
			return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long",
			                     pattern);
		memcpy(name + len, part, more);
		len += more;
	}
	name[len] = 0;
	return found;
}
