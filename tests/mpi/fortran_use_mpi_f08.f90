! The alltoall through `use mpi_f08`, out of place and in place, on a part of the world, too.
program main
  use mpi_f08
  implicit none
  integer, parameter :: n = 2
  integer :: rank, ranks
  logical :: right = .true.
  type(MPI_Comm) :: part
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call exchange(MPI_COMM_WORLD)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, part)
  call exchange(part)
  call MPI_Comm_free(part)
  if (.not. right) call MPI_Abort(MPI_COMM_WORLD, 1)
  call MPI_Finalize()
contains
  subroutine exchange(comm)
    type(MPI_Comm), intent(in) :: comm
    integer, allocatable :: send(:), recv(:)
    integer :: me, i
    call MPI_Comm_rank(comm, me)
    call MPI_Comm_size(comm, ranks)
    allocate(send(n * ranks), recv(n * ranks))
    send = [(me * 10000 + i, i = 1, n * ranks)]
    recv = -1
    call MPI_Alltoall(send, n, MPI_INTEGER, recv, n, MPI_INTEGER, comm)
    call judge(recv, me)
    recv = send
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, recv, n, MPI_INTEGER, comm)
    call judge(recv, me)
  end subroutine

  subroutine judge(recv, me)
    integer, intent(in) :: recv(:), me
    integer :: j
    do j = 1, n * ranks
      if (recv(j) /= ((j - 1) / n) * 10000 + me * n + mod(j - 1, n) + 1) right = .false.
    end do
  end subroutine
end program
