! The alltoall through `use mpi`, out of place, in place and of a strided datatype.
program main
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: code, rank, ranks, i, wrong, provided, row
  double precision, allocatable :: send(:), recv(:), wide(:)
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  allocate(send(n * ranks), recv(n * ranks), wide(2 * n * ranks))
  wrong = 0

  send = [(rank * 10000.0d0 + i, i = 1, n * ranks)]
  recv = -1
  call MPI_Alltoall(send, n, MPI_DOUBLE_PRECISION, recv, n, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, code)
  call judge()

  recv = send
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, n, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, code)
  call judge()

  wide = -1
  wide(1::2) = send
  recv = -1
  call MPI_Type_vector(n, 1, 2, MPI_DOUBLE_PRECISION, row, code)
  call stretch(row)
  call MPI_Alltoall(wide, 1, row, recv, n, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, code)
  call judge()
  call MPI_Type_free(row, code)

  if (wrong /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, code)
  call MPI_Finalize(code)
contains
  subroutine judge()
    integer :: j
    do j = 1, n * ranks
      if (recv(j) /= ((j - 1) / n) * 10000.0d0 + rank * n + mod(j - 1, n) + 1) wrong = wrong + 1
    end do
  end subroutine

  ! Up to the next row, so that blocks lie one after another.
  subroutine stretch(type)
    integer, intent(inout) :: type
    integer :: short
    short = type
    call MPI_Type_create_resized(short, 0_MPI_ADDRESS_KIND, int(16 * n, MPI_ADDRESS_KIND), type, &
                                 code)
    call MPI_Type_free(short, code)
    call MPI_Type_commit(type, code)
  end subroutine
end program
