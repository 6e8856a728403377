! Collectives through `use mpi_f08`, out of place and in place, also on a part of the world.
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
  call reduce(MPI_COMM_WORLD)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, part)
  call exchange(part)
  call reduce(part)
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

  ! Predefined operations, and a user-defined one that returns its left operand.
  subroutine reduce(comm)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Op) :: op
    integer :: me, mine(2), got(2)
    call MPI_Comm_rank(comm, me)
    call MPI_Comm_size(comm, ranks)
    mine = [me + 1, -me]
    call MPI_Allreduce(mine, got, 2, MPI_INTEGER, MPI_SUM, comm)
    if (got(1) /= ranks * (ranks + 1) / 2) right = .false.
    got = mine
    call MPI_Scan(MPI_IN_PLACE, got, 2, MPI_INTEGER, MPI_MIN, comm)
    if (any(got /= [1, -me])) right = .false.
    call MPI_Op_create(left_one, .false., op)
    call MPI_Allreduce(mine, got, 2, MPI_INTEGER, op, comm)
    if (any(got /= [1, 0])) right = .false.
    call MPI_Op_free(op)
    got = merge(5, 0, me == ranks - 1)
    call MPI_Bcast(got, 2, MPI_INTEGER, ranks - 1, comm)
    if (any(got /= 5)) right = .false.
    call MPI_Barrier(comm)
  end subroutine

  subroutine left_one(first, second, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: first, second
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: left(:), inout(:)
    if (datatype /= MPI_INTEGER) right = .false.
    call c_f_pointer(first, left, [length])
    call c_f_pointer(second, inout, [length])
    inout = left
  end subroutine

  subroutine judge(recv, me)
    integer, intent(in) :: recv(:), me
    integer :: j
    do j = 1, n * ranks
      if (recv(j) /= ((j - 1) / n) * 10000 + me * n + mod(j - 1, n) + 1) right = .false.
    end do
  end subroutine
end program
