! Nonblocking and persistent collectives from Fortran, by the binding that BINDING names: 1 for
! mpif.h, 2 for use mpi, 3 for use mpi_f08.
#if BINDING == 3
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
#ifdef OPENMPI
#define ALLREDUCE_INIT MPIX_Allreduce_init
#else
#define ALLREDUCE_INIT MPI_Allreduce_init
#endif
program fortran_nonblocking
#if BINDING == 3
  use mpi_f08
#ifdef OPENMPI
  use mpi_f08_ext
#endif
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  integer, parameter :: count = 3, rounds = 20
  integer :: rank, size, error, i, round, wrong, all_wrong, place
  integer, asynchronous, allocatable :: send(:), receive(:), sums(:), w_receive(:)
  integer, allocatable :: counts(:), places(:)
  HANDLE(MPI_Datatype), allocatable :: types(:)
  HANDLE(MPI_Datatype) :: pair
  HANDLE(MPI_Request) :: requests(4)
#if BINDING == 3
  type(MPI_Status) :: statuses(4), status
#else
  integer :: statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE)
#endif
  logical :: done

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  allocate(send(count * size), receive(count * size), sums(size), w_receive(count * size))
  allocate(counts(size), places(size), types(size))
  wrong = 0
  do round = 1, rounds
    do i = 1, count * size
      send(i) = round * 100000 + rank * 1000 + i
      receive(i) = -1
      w_receive(i) = -1
    end do
    do i = 1, size
      sums(i) = rank + i + round
      counts(i) = 1
      places(i) = 4 * count * (i - 1)
    end do
    call MPI_Type_contiguous(count, MPI_INTEGER, pair, error)
    call MPI_Type_commit(pair, error)
    types = pair
    call MPI_Ialltoall(send, count, MPI_INTEGER, receive, 1, pair, MPI_COMM_WORLD, &
                       requests(1), error)
    call MPI_Ialltoallw(send, counts, places, types, w_receive, counts, places, types, &
                        MPI_COMM_WORLD, requests(2), error)
    call MPI_Iallreduce(MPI_IN_PLACE, sums, size, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
                        requests(3), error)
    requests(4) = MPI_REQUEST_NULL
    call MPI_Type_free(pair, error)
    done = .false.
    if (mod(round, 3) == 0) then
      do while (.not. done)
        call MPI_Test(requests(2), done, status, error)
      end do
    else if (mod(round, 3) == 1) then
      call MPI_Waitany(4, requests, place, status, error)
    end if
    call MPI_Waitall(4, requests, statuses, error)
    do i = 1, size
      if (sums(i) /= size * (i + round) + size * (size - 1) / 2) wrong = wrong + 1
    end do
    call check(receive)
    call check(w_receive)
  end do

  call ALLREDUCE_INIT(send, receive, size, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &
                      requests(1), error)
  do round = 1, rounds
    do i = 1, size
      send(i) = round * 1000 + rank * i
      receive(i) = -1
    end do
    call MPI_Start(requests(1), error)
    call MPI_Wait(requests(1), status, error)
    if (requests(1) == MPI_REQUEST_NULL) wrong = wrong + 1
    do i = 1, size
      if (receive(i) /= round * 1000 + (size - 1) * i) wrong = wrong + 1
    end do
  end do
  call MPI_Request_free(requests(1), error)
  if (requests(1) /= MPI_REQUEST_NULL) wrong = wrong + 1

  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_wrong /= 0) print *, 'FAILED: ', all_wrong, ' values are wrong'
  call MPI_Finalize(error)
  if (all_wrong /= 0) stop 1

contains

  subroutine check(got)
    integer, intent(in) :: got(:)
    integer :: from, at
    do from = 0, size - 1
      do at = 1, count
        if (got(from * count + at) /= round * 100000 + from * 1000 + rank * count + at) &
          wrong = wrong + 1
      end do
    end do
  end subroutine
end program
