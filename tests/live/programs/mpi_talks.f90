! Two ranks that talk by MPI's functions of Fortran. The status is 55.
program mpi_talks
	use mpi
	implicit none
	integer :: ierr, rank, length
	integer :: requests(2), status(MPI_STATUS_SIZE), halves
	double precision :: numbers(1000), others(1000)
	character(len=MPI_MAX_OBJECT_NAME) :: name
	call MPI_Init(ierr)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
	numbers = 1
	if (rank == 0) then
		call MPI_Send(numbers, 100, MPI_DOUBLE_PRECISION, 1, 7, MPI_COMM_WORLD, ierr)
		call MPI_Send(numbers, 10, MPI_REAL, 1, 8, MPI_COMM_WORLD, ierr)
	else
		call MPI_Recv(others, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
		call MPI_Recv(others, 1000, MPI_REAL, 0, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
		if (status(MPI_TAG) /= 8) stop 3
	end if
	call MPI_Irecv(others, 1000, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD, requests(1), ierr)
	call MPI_Isend(numbers, 50, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD, requests(2), ierr)
	call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
	call MPI_Allreduce(MPI_IN_PLACE, others, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
	call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, others, 4, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
	call MPI_Comm_split(MPI_COMM_WORLD, 0, rank, halves, ierr)
	call MPI_Comm_set_name(halves, "halves  ", ierr)
	call MPI_Comm_get_name(halves, name, length, ierr)
	if (name(1:length) /= "halves") stop 4
	call MPI_Barrier(halves, ierr)
	call MPI_Finalize(ierr)
	call exit(55)
end program
