! Datatypes whose displacements are addresses, of numbers and letters, at Fortran's MPI_BOTTOM, by
! the binding that BINDING names: 1 for mpif.h, 2 for use mpi, 3 for use mpi_f08.
#if BINDING == 3
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
program fortran_bottom
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
  integer, target, asynchronous :: numbers(3)
  integer, target, asynchronous, allocatable :: all_numbers(:, :)
  character(5), target, asynchronous :: letters
  character(5), target, asynchronous, allocatable :: all_letters(:)
  HANDLE(MPI_Datatype) :: here
  HANDLE(MPI_Datatype), allocatable :: types(:), sent(:)
  HANDLE(MPI_Request) :: request
  integer, allocatable :: counts(:), places(:)
  integer :: rank, size, error, r, wrong, all_wrong
#if BINDING == 3
  type(MPI_Status) :: status
#else
  integer :: status(MPI_STATUS_SIZE)
#endif

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  allocate(all_numbers(3, size), all_letters(size), types(size), sent(size))
  allocate(counts(size), places(size))
  wrong = 0
  call make_type(numbers, letters, here)
  do r = 1, size
    call make_type(all_numbers(:, r), all_letters(r), types(r))
  end do
  counts = 1
  places = 0
  sent = here

  call fill(2)
  call MPI_Bcast(MPI_BOTTOM, 1, here, 1, MPI_COMM_WORLD, error)
  call judge(numbers, letters, 1)
  call fill(3)
  call MPI_Ibcast(MPI_BOTTOM, 1, here, 0, MPI_COMM_WORLD, request, error)
  call MPI_Wait(request, status, error)
  call judge(numbers, letters, 0)
  call fill(4)
  call MPI_Alltoallw(MPI_BOTTOM, counts, places, sent, MPI_BOTTOM, counts, places, types, &
                     MPI_COMM_WORLD, error)
  call judge_all()
  call fill(5)
  call MPI_Ialltoallw(MPI_BOTTOM, counts, places, sent, MPI_BOTTOM, counts, places, types, &
                      MPI_COMM_WORLD, request, error)
  call MPI_Wait(request, status, error)
  call judge_all()
  ! Letters alone.
  call fill(6)
  call MPI_Allgather(letters, 5, MPI_CHARACTER, all_letters, 5, MPI_CHARACTER, MPI_COMM_WORLD, &
                     error)
  do r = 1, size
    call judge(numbers, letters, rank)
    if (all_letters(r) /= letters_of(r - 1)) wrong = wrong + 1
  end do

  call MPI_Type_free(here, error)
  do r = 1, size
    call MPI_Type_free(types(r), error)
  end do
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_wrong /= 0) print *, 'FAILED: ', all_wrong, ' values are wrong'
  call MPI_Finalize(error)
  if (all_wrong /= 0) stop 1

contains

  subroutine make_type(these, those, type)
    integer, target, intent(in) :: these(3)
    character(5), target, intent(in) :: those
    HANDLE(MPI_Datatype), intent(out) :: type
    integer(MPI_ADDRESS_KIND) :: addresses(2)
    call MPI_Get_address(these, addresses(1), error)
    call MPI_Get_address(those, addresses(2), error)
    call MPI_Type_create_struct(2, [3, 5], addresses, [MPI_INTEGER, MPI_CHARACTER], type, error)
    call MPI_Type_commit(type, error)
  end subroutine

  subroutine fill(salt)
    integer, intent(in) :: salt
    numbers = [rank, salt, rank * salt]
    letters = letters_of(rank)
    all_numbers = -1
    all_letters = ''
  end subroutine

  character(5) function letters_of(from)
    integer, intent(in) :: from
    letters_of = repeat(char(ichar('a') + from), 4) // 'z'
  end function

  subroutine judge(these, those, from)
    integer, intent(in) :: these(3), from
    character(5), intent(in) :: those
    if (these(1) /= from .or. these(3) /= from * these(2)) wrong = wrong + 1
    if (those /= letters_of(from)) wrong = wrong + 1
  end subroutine

  subroutine judge_all()
    integer :: from
    do from = 1, size
      call judge(all_numbers(:, from), all_letters(from), from - 1)
    end do
  end subroutine
end program
