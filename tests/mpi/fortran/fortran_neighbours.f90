! Neighbourhood collectives through `use mpi_f08`, blocking and not, on the three topologies; also
! with MPI_BOTTOM, and with a dimension of which every rank is its own neighbour.
program main
  use mpi_f08
  implicit none
  integer :: rank, ranks, left, right
  logical :: good = .true.
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  call grid()
  call ring(.true.)
  call ring(.false.)
  if (.not. good) call MPI_Abort(MPI_COMM_WORLD, 1)
  call MPI_Finalize()
contains
  subroutine check(wrong, what)
    logical, intent(in) :: wrong
    character(*), intent(in) :: what
    if (.not. wrong) return
    print *, 'FAILED: ', what, ' on rank ', rank
    good = .false.
  end subroutine

  ! Blocks 1 and 2 go around the ring, 3 and 4 to the rank itself: what goes up comes from below.
  subroutine grid()
    type(MPI_Comm) :: comm
    type(MPI_Request) :: request
    integer :: send(4), got(4), all(4), i
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [ranks, 1], [.true., .true.], .false., comm)
    send = [(100 * rank + i, i = 1, 4)]
    do i = 1, 8
      got = -1
      call MPI_Neighbor_alltoall(send, 1, MPI_INTEGER, got, 1, MPI_INTEGER, comm)
      call check(any(got /= [100 * left + 2, 100 * right + 1, 100 * rank + 4, 100 * rank + 3]), &
                 'a grid')
      got = -1
      call MPI_Ineighbor_alltoall(send, 1, MPI_INTEGER, got, 1, MPI_INTEGER, comm, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(any(got /= [100 * left + 2, 100 * right + 1, 100 * rank + 4, 100 * rank + 3]), &
                 'a grid, later')
      call MPI_Neighbor_allgather(send(2), 1, MPI_INTEGER, all, 1, MPI_INTEGER, comm)
      call check(any(all /= [100 * left + 2, 100 * right + 2, 100 * rank + 2, 100 * rank + 2]), &
                 'what all neighbours have')
    end do
    call MPI_Comm_free(comm)
  end subroutine

  ! To the right alone; two blocks.
  subroutine ring(distributed)
    logical, intent(in) :: distributed
    type(MPI_Comm) :: comm
    type(MPI_Datatype) :: types(2), received(2)
    integer :: i, k, neighbours(2 * ranks), ends(ranks), counts(2)
    integer(MPI_ADDRESS_KIND) :: from(2), to(2)
    double precision, asynchronous :: send(3), got(3)
    if (distributed) then
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [left, left], [1, 2], 2, &
                                          [right, right], [2, 1], MPI_INFO_NULL, .false., comm)
    else
      ! Each rank has both of its neighbours.
      do i = 0, ranks - 1
        neighbours(2 * i + 1) = modulo(i - 1, ranks)
        neighbours(2 * i + 2) = modulo(i + 1, ranks)
        ends(i + 1) = 2 * i + 2
      end do
      if (ranks < 3) return
      call MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, neighbours, .false., comm)
    end if
    counts = [2, 1]
    types = [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION]
    received = types
    do k = 1, 6
      send = [(1000d0 * rank + 10 * k + i, i = 1, 3)]
      got = -1
      call MPI_Get_address(send(1), from(1))
      call MPI_Get_address(send(3), from(2))
      call MPI_Get_address(got(1), to(1))
      call MPI_Get_address(got(3), to(2))
      if (distributed) then
        call MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, &
                                    received, comm)
        if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(got)
        call check(any(got /= [(1000d0 * left + 10 * k + i, i = 1, 3)]), 'a ring')
      else
        call MPI_Neighbor_alltoallv(send, [1, 2], [0, 1], MPI_DOUBLE_PRECISION, got, [2, 1], &
                                    [0, 2], MPI_DOUBLE_PRECISION, comm)
        call check(any(got /= [1000d0 * left + 10 * k + 2, 1000d0 * left + 10 * k + 3, &
                               1000d0 * right + 10 * k + 1]), 'a graph')
      end if
    end do
    call MPI_Comm_free(comm)
  end subroutine
end program
