/* Values of both interfaces as events store them. */
#include <string.h>

#include "inject/api/read.h"
#include "inject/mpi/calls.h"
#include "inject/mpi/openmpi.h"

bool af_mpi_is_open;
struct af_api_native af_mpi_natives[AF_MPI_LANGUAGES][AF_MPI_TYPES];

/* Open MPI's objects that are there from the start, by address. */
enum { SLOTS = 512, SLOT_BITS = 9 };
static struct {
	uint64_t address;
	uint64_t handle;
} objects[SLOTS];

/* Functions and places of the MPI in the process; NULL where there is none. */
static uint64_t (*from_fortran[AF_MPI_HANDLES])(int32_t handle);
static int (*comm_size)(uint64_t comm, int *size);
static int (*comm_remote_size)(uint64_t comm, int *size);
static int (*comm_test_inter)(uint64_t comm, int *flag);
static int (*type_size)(uint64_t datatype, int *size);
static int (*type_size_x)(uint64_t datatype, int64_t *size);
static const void *fortran_status_ignore, *fortran_statuses_ignore, *fortran_in_place;

enum { MPICH_DATATYPE_NULL = 0x0c000000, MPICH_ERROR_CLASS = 0x7f, MPICH_ERROR_DYNAMIC = 1 << 30 };

static uint32_t slot_of(uint64_t address)
{
	return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS));
}

static void object_add(uint64_t address, uint32_t handle)
{
	uint32_t i = slot_of(address);

	while (objects[i].address && objects[i].address != address)
		i = (i + 1) % SLOTS;
	objects[i].address = address;
	objects[i].handle = handle;
}

uint64_t af_mpi_handle(uint64_t handle)
{
	if (!af_mpi_is_open)
		return (uint32_t)handle;
	for (uint32_t i = slot_of(handle); objects[i].address; i = (i + 1) % SLOTS)
		if (objects[i].address == handle)
			return objects[i].handle;
	return handle;
}

static int32_t number_stored(const struct af_openmpi_number *all, unsigned nr, int32_t value)
{
	for (unsigned i = 0; i < nr; i++)
		if (all[i].theirs == value)
			return all[i].stored;
	return value;
}

int32_t af_mpi_rank(int32_t rank)
{
	if (!af_mpi_is_open || rank >= 0)
		return rank;
	return number_stored(af_openmpi_rank, af_openmpi_nr_rank, rank);
}

int32_t af_mpi_lock_type(int32_t type)
{
	if (!af_mpi_is_open)
		return type;
	return number_stored(af_openmpi_lock_type, af_openmpi_nr_lock_type, type);
}

int32_t af_mpi_win_mode(int32_t mode)
{
	int32_t stored = 0;

	if (!af_mpi_is_open)
		return mode;
	for (unsigned i = 0; i < af_openmpi_nr_win_mode; i++)
		if (mode & af_openmpi_win_mode[i].theirs)
			stored |= af_openmpi_win_mode[i].stored;
	return stored;
}

/* MPICH's codes have their class in them, which is what has a name. */
int32_t af_mpi_error_code(int32_t code)
{
	if (af_mpi_is_open)
		return number_stored(af_openmpi_error_code, af_openmpi_nr_error_code, code);
	return code & MPICH_ERROR_DYNAMIC ? code : code & MPICH_ERROR_CLASS;
}

uint64_t af_mpi_from_fortran(enum af_mpi_type type, int32_t handle)
{
	/* MPICH's are the same numbers, but for files. */
	return from_fortran[type] ? from_fortran[type](handle) : (uint32_t)handle;
}

void *af_mpi_status(void *status, void *own)
{
	return (uint64_t)status < AF_API_SOMEWHERE ? own : status;
}

void *af_mpi_place(void *place)
{
	bool ignored = place == fortran_status_ignore || place == fortran_statuses_ignore;

	return ignored ? NULL : place;
}

void *af_mpi_text(const void *text, uint64_t len)
{
	static __thread char texts[4][1024];
	static __thread unsigned next;
	char *copy = texts[next++ % 4];

	if (len >= sizeof *texts)
		len = sizeof *texts - 1;
	while (len && ((const char *)text)[len - 1] == ' ')
		len--;
	memcpy(copy, text, len);
	copy[len] = 0;
	return copy;
}

uint64_t af_api_ranks(const struct af_api_hook *c, uint64_t comm)
{
	int inter = 0, size = 0;

	if (c->failed || !comm_size || (comm_test_inter && comm_test_inter(comm, &inter)))
		return 0;
	if (inter ? !comm_remote_size || comm_remote_size(comm, &size) : comm_size(comm, &size))
		return 0;
	return size > 0 ? (uint64_t)size : 0;
}

uint64_t af_api_datatype_size(const struct af_api_hook *c, uint64_t datatype)
{
	int64_t wide = 0;
	int size = 0;

	if (c->failed || !datatype || af_mpi_handle(datatype) == MPICH_DATATYPE_NULL)
		return 0;
	if (type_size_x && !type_size_x(datatype, &wide))
		return wide > 0 ? (uint64_t)wide : 0;
	return type_size && !type_size(datatype, &size) && size > 0 ? (uint64_t)size : 0;
}

bool af_api_given(const struct af_api_hook *c, const void *buffer)
{
	if (c->variant == AF_MPI_FORTRAN)
		return buffer != fortran_in_place;
	return buffer != (const void *)(af_mpi_is_open ? 1ul : ~0ul);
}

/* One in memory, as its event has it. */

static void handle_store(void *to, const void *from)
{
	uint64_t handle = 0;

	memcpy(&handle, from, af_mpi_is_open ? 8 : 4);
	handle = af_mpi_handle(handle);
	memcpy(to, &handle, sizeof handle);
}

static void file_store(void *to, const void *from)
{
	memcpy(to, from, 8);
}

/* The number that Fortran has for a handle. */
#define FORTRAN_STORE(type)                                                                        \
	static void fortran_store_##type(void *to, const void *from)                               \
	{                                                                                          \
		int32_t number;                                                                    \
		memcpy(&number, from, sizeof number);                                              \
		uint64_t handle = af_mpi_handle(af_mpi_from_fortran(AF_MPI_##type, number));       \
		memcpy(to, &handle, sizeof handle);                                                \
	}
#define HANDLE_TYPES(T)                                                                            \
	T(MPI_Comm, "PMPI_Comm_f2c")                                                               \
	T(MPI_Datatype, "PMPI_Type_f2c")                                                           \
	T(MPI_Op, "PMPI_Op_f2c")                                                                   \
	T(MPI_Win, "PMPI_Win_f2c")                                                                 \
	T(MPI_Request, "PMPI_Request_f2c")                                                         \
	T(MPI_Info, "PMPI_Info_f2c")                                                               \
	T(MPI_Errhandler, "PMPI_Errhandler_f2c")                                                   \
	T(MPI_Group, "PMPI_Group_f2c")                                                             \
	T(MPI_Message, "PMPI_Message_f2c")                                                         \
	T(MPI_File, "PMPI_File_f2c")                                                               \
	T(MPI_Session, "PMPI_Session_f2c")
#define STORE(type, name) FORTRAN_STORE(type)
HANDLE_TYPES(STORE)

#define NUMBER_STORE(type)                                                                         \
	static void type##_store(void *to, const void *from)                                       \
	{                                                                                          \
		int32_t value;                                                                     \
		memcpy(&value, from, sizeof value);                                                \
		value = af_mpi_##type(value);                                                      \
		memcpy(to, &value, sizeof value);                                                  \
	}
NUMBER_STORE(rank)
NUMBER_STORE(lock_type)
NUMBER_STORE(win_mode)
NUMBER_STORE(error_code)

/* As the model has it. */
struct stored_status {
	int32_t source, tag, cancelled, padding;
	uint64_t bytes;
};

static void openmpi_status_store(void *to, const void *from)
{
	struct {
		int32_t source, tag, error, cancelled;
		uint64_t bytes;
	} is;
	memcpy(&is, from, sizeof is);
	struct stored_status s = {
	    .source = af_mpi_rank(is.source),
	    .tag = is.tag,
	    .cancelled = is.cancelled,
	    .bytes = is.bytes,
	};
	memcpy(to, &s, sizeof s);
}

static void mpich_status_store(void *to, const void *from)
{
	struct {
		uint32_t count_low, count_high_and_cancelled;
		int32_t source, tag, error;
	} is;
	memcpy(&is, from, sizeof is);
	struct stored_status s = {
	    .source = is.source,
	    .tag = is.tag,
	    .cancelled = is.count_high_and_cancelled & 1,
	    .bytes = (uint64_t)(is.count_high_and_cancelled >> 1) << 32 | is.count_low,
	};
	memcpy(to, &s, sizeof s);
}

static void natives_find(struct af_api_native *n)
{
	for (unsigned i = 0; i < AF_MPI_HANDLES; i++)
		n[i] = (struct af_api_native){af_mpi_is_open ? 8 : 4, 8, handle_store};
	n[AF_MPI_MPI_File] = (struct af_api_native){8, 8, file_store};
	n[AF_MPI_MPI_rank] = (struct af_api_native){4, 4, rank_store};
	n[AF_MPI_MPI_lock_type] = (struct af_api_native){4, 4, lock_type_store};
	n[AF_MPI_MPI_win_mode] = (struct af_api_native){4, 4, win_mode_store};
	n[AF_MPI_MPI_error_code] = (struct af_api_native){4, 4, error_code_store};
	if (af_mpi_is_open)
		n[AF_MPI_MPI_Status] = (struct af_api_native){24, 24, openmpi_status_store};
	else
		n[AF_MPI_MPI_Status] = (struct af_api_native){20, 24, mpich_status_store};
}

static void openmpi_find(void)
{
	struct af_api_native *n = af_mpi_natives[AF_MPI_FORTRAN];

	for (const struct af_openmpi_object *o = af_openmpi_objects; o->symbol; o++) {
		uint64_t address = (uint64_t)af_mpi_data(o->symbol);
		if (address)
			object_add(address, o->handle);
	}
#define FIND(type, name)                                                                           \
	*(void **)&from_fortran[AF_MPI_##type] = af_mpi_function(name);                            \
	n[AF_MPI_##type] = (struct af_api_native){4, 8, fortran_store_##type};
	HANDLE_TYPES(FIND)
	fortran_status_ignore = af_mpi_data("mpi_fortran_status_ignore_");
	fortran_statuses_ignore = af_mpi_data("mpi_fortran_statuses_ignore_");
	fortran_in_place = af_mpi_data("mpi_fortran_in_place_");
}

static void mpich_find(void)
{
	*(void **)&from_fortran[AF_MPI_MPI_File] = af_mpi_function("PMPI_File_f2c");
	af_mpi_natives[AF_MPI_FORTRAN][AF_MPI_MPI_File] =
	    (struct af_api_native){4, 8, fortran_store_MPI_File};
	fortran_status_ignore = af_mpi_data("MPIR_F08_MPI_STATUS_IGNORE_OBJ");
	fortran_statuses_ignore = af_mpi_data("MPIR_F08_MPI_STATUSES_IGNORE_OBJ");
	fortran_in_place = af_mpi_data("MPIR_F08_MPI_IN_PLACE");
}

void af_mpi_values_find(void)
{
	af_mpi_is_open = af_mpi_data("ompi_mpi_comm_world") != NULL;
	natives_find(af_mpi_natives[AF_MPI_C]);
	natives_find(af_mpi_natives[AF_MPI_FORTRAN]);
	*(void **)&comm_size = af_mpi_function("PMPI_Comm_size");
	*(void **)&comm_remote_size = af_mpi_function("PMPI_Comm_remote_size");
	*(void **)&comm_test_inter = af_mpi_function("PMPI_Comm_test_inter");
	*(void **)&type_size = af_mpi_function("PMPI_Type_size");
	*(void **)&type_size_x = af_mpi_function("PMPI_Type_size_x");
	if (af_mpi_is_open)
		openmpi_find();
	else
		mpich_find();
}
