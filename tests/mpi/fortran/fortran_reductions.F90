! Reductions from Fortran, by the binding that BINDING names: 1 for mpif.h, 2 for use mpi, 3 for use
! mpi_f08. Every predefined operation on every datatype of Fortran that it takes, and a program's
! own that does not commute, as blocking, nonblocking and persistent calls, in place and not.
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
program fortran_reductions
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
#if BINDING != 3
  external :: multiply
#endif
  ! Names of operations.
  integer, parameter :: most = 1, least = 2, total = 3, times = 4, bit_and = 5, bit_or = 6
  integer, parameter :: bit_xor = 7, both = 8, either = 9, one_of = 10, place_of_most = 11
  integer, parameter :: place_of_least = 12, own = 13
  ! The widest reals that the compiler has.
  integer, parameter :: wide = max(selected_real_kind(33, 4931), kind(1d0))
  HANDLE(MPI_Op) :: operations(13)
  HANDLE(MPI_Datatype) :: matrix
  character(*), parameter :: names = &
    'max   min   sum   prod  band  bor   bxor  land  lor   lxor  maxlocminlocown   '
  integer :: rank, size, error, wrong, all_wrong, checked, checked_operation, length
  character(MPI_MAX_OBJECT_NAME) :: checked_type
  ! By byte of a vector, and rank: what it has, and the result of the ranks up to it.
  integer(1), allocatable :: values(:, :), results(:, :)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
  operations(most:own - 1) = [MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR, &
                              MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MAXLOC, MPI_MINLOC]
  call MPI_Op_create(multiply, .false., operations(own), error)
  call MPI_Type_contiguous(4, MPI_INTEGER, matrix, error)
  call MPI_Type_commit(matrix, error)
  wrong = 0
  checked = 0

  call integers(MPI_INTEGER, most, bit_xor)
  call integers(MPI_INTEGER1, most, bit_xor)
  call integers(MPI_INTEGER2, most, bit_xor)
  call integers(MPI_INTEGER4, most, bit_xor)
  call integers(MPI_INTEGER8, most, bit_xor)
  call integers(MPI_AINT, most, bit_xor)
  call integers(MPI_OFFSET, most, bit_xor)
  call integers(MPI_COUNT, most, bit_xor)
  call integers(MPI_BYTE, bit_and, bit_xor)
  call reals(MPI_REAL)
  call reals(MPI_DOUBLE_PRECISION)
  call reals(MPI_REAL4)
  call reals(MPI_REAL8)
  if (host_has(MPI_REAL16)) call reals(MPI_REAL16)
  call complexes(MPI_COMPLEX)
  call complexes(MPI_DOUBLE_COMPLEX)
  call complexes(MPI_COMPLEX8)
  call complexes(MPI_COMPLEX16)
  if (host_has(MPI_COMPLEX32)) call complexes(MPI_COMPLEX32)
  call truths()
  call pairs(MPI_2INTEGER)
  call pairs(MPI_2REAL)
  call pairs(MPI_2DOUBLE_PRECISION)
  call matrices()
  ! Those on reals of 16 bytes beside.
  if (checked < 8 * 7 + 3 + 4 * 4 + 4 * 2 + 3 + 3 * 2 + 1) wrong = wrong + 1

  call MPI_Type_free(matrix, error)
  call MPI_Op_free(operations(own), error)
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_wrong /= 0) print *, 'FAILED: ', all_wrong, ' results are wrong'
  call MPI_Finalize(error)
  if (all_wrong /= 0) stop 1

contains

  ! Element i of rank r: not 0, and small, so that products of four fit in a byte.
  integer function small(i, r)
    integer, intent(in) :: i, r
    small = mod(5 * r + 3 * i, 3) + 1
    if (mod(r + i, 3) == 0) small = -small
  end function

  subroutine integers(type, first, last)
    HANDLE(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: first, last
    integer(8) :: list(size)
    integer :: bytes, operation, i, r
    call make_room(type, bytes)
    do operation = first, last
      do i = 1, size
        list = [(small(i, r), r = 1, size)]
        do r = 1, size
          call put_integer(list(r), bytes, values(:, r), i)
          call put_integer(of_integers(operation, list(:r)), bytes, results(:, r), i)
        end do
      end do
      call check(type, operation, bytes)
    end do
  end subroutine

  integer(8) function of_integers(operation, list) result(found)
    integer, intent(in) :: operation
    integer(8), intent(in) :: list(:)
    found = 0
    if (operation == most) found = maxval(list)
    if (operation == least) found = minval(list)
    if (operation == total) found = sum(list)
    if (operation == times) found = product(list)
    if (operation == bit_and) found = iall(list)
    if (operation == bit_or) found = iany(list)
    if (operation == bit_xor) found = iparity(list)
  end function

  subroutine reals(type)
    HANDLE(MPI_Datatype), intent(in) :: type
    real(wide) :: list(size), found
    integer :: bytes, operation, i, r
    call make_room(type, bytes)
    do operation = most, times
      do i = 1, size
        list = [(small(i, r) / 4.0, r = 1, size)]
        do r = 1, size
          if (operation == most) found = maxval(list(:r))
          if (operation == least) found = minval(list(:r))
          if (operation == total) found = sum(list(:r))
          if (operation == times) found = product(list(:r))
          call put_real(list(r), bytes, values(:, r), i)
          call put_real(found, bytes, results(:, r), i)
        end do
      end do
      call check(type, operation, bytes)
    end do
  end subroutine

  subroutine complexes(type)
    HANDLE(MPI_Datatype), intent(in) :: type
    complex(wide) :: list(size), found
    integer :: bytes, operation, i, r
    call make_room(type, bytes)
    do operation = total, times
      do i = 1, size
        list = [(cmplx(small(i, r), small(i + 1, r), wide), r = 1, size)]
        do r = 1, size
          found = sum(list(:r))
          if (operation == times) found = product(list(:r))
          call put_real(real(list(r), wide), bytes / 2, values(:, r), 2 * i - 1)
          call put_real(aimag(list(r)), bytes / 2, values(:, r), 2 * i)
          call put_real(real(found, wide), bytes / 2, results(:, r), 2 * i - 1)
          call put_real(aimag(found), bytes / 2, results(:, r), 2 * i)
        end do
      end do
      call check(type, operation, bytes)
    end do
  end subroutine

  subroutine truths()
    logical :: list(size), found
    integer :: bytes, operation, i, r
    call make_room(MPI_LOGICAL, bytes)
    do operation = both, one_of
      do i = 1, size
        ! All, none, or some.
        list = [(i == 1 .or. (i > 2 .and. small(i, r) > 0), r = 1, size)]
        do r = 1, size
          if (operation == both) found = all(list(:r))
          if (operation == either) found = any(list(:r))
          if (operation == one_of) found = parity(list(:r))
          values(bytes * (i - 1) + 1:bytes * i, r) = transfer(list(r), values(:, 1))
          results(bytes * (i - 1) + 1:bytes * i, r) = transfer(found, values(:, 1))
        end do
      end do
      call check(MPI_LOGICAL, operation, bytes)
    end do
  end subroutine

  ! A value and the number of its rank; of equal ones the first is wanted.
  subroutine pairs(type)
    HANDLE(MPI_Datatype), intent(in) :: type
    integer :: list(size), bytes, operation, i, r, at
    logical :: whole
    whole = type == MPI_2INTEGER
    call make_room(type, bytes)
    do operation = place_of_most, place_of_least
      do i = 1, size
        list = [(small(i, r), r = 1, size)]
        do r = 1, size
          at = maxloc(list(:r), 1)
          if (operation == place_of_least) at = minloc(list(:r), 1)
          call put_number(list(r), whole, bytes / 2, values(:, r), 2 * i - 1)
          call put_number(r, whole, bytes / 2, values(:, r), 2 * i)
          call put_number(list(at), whole, bytes / 2, results(:, r), 2 * i - 1)
          call put_number(at, whole, bytes / 2, results(:, r), 2 * i)
        end do
      end do
      call check(type, operation, bytes)
    end do
  end subroutine

  subroutine put_number(number, whole, bytes, into, at)
    logical, intent(in) :: whole
    integer, intent(in) :: number, bytes, at
    integer(1), intent(inout) :: into(:)
    if (whole) call put_integer(int(number, 8), bytes, into, at)
    if (.not. whole) call put_real(real(number, wide), bytes, into, at)
  end subroutine

  subroutine matrices()
    integer :: one(4), found(4), bytes, i, r
    call make_room(matrix, bytes)
    do i = 1, size
      do r = 1, size
        one = [r + i, 2 * r, i, 1 + 3 * r]
        found = one
        ! The left operand is the first.
        if (r > 1) then
          found = transfer(results(bytes * (i - 1) + 1:bytes * i, r - 1), found)
          found = product_of(found, one)
        end if
        values(bytes * (i - 1) + 1:bytes * i, r) = transfer(one, values(:, 1))
        results(bytes * (i - 1) + 1:bytes * i, r) = transfer(found, values(:, 1))
      end do
    end do
    call check(matrix, own, bytes)
  end subroutine

  function product_of(left, right) result(found)
    integer, intent(in) :: left(4), right(4)
    integer :: found(4)
    found = mod(reshape(matmul(reshape(left, [2, 2]), reshape(right, [2, 2])), [4]), 251)
  end function

  ! For vectors of an element for each rank.
  subroutine make_room(type, bytes)
    HANDLE(MPI_Datatype), intent(in) :: type
    integer, intent(out) :: bytes
    call MPI_Type_size(type, bytes, error)
    if (allocated(values)) deallocate(values, results)
    allocate(values(bytes * size, size), results(bytes * size, size))
  end subroutine

  subroutine put_integer(number, bytes, into, at)
    integer(8), intent(in) :: number
    integer, intent(in) :: bytes, at
    integer(1), intent(inout) :: into(:)
    associate (place => into(bytes * (at - 1) + 1:bytes * at))
      if (bytes == 1) place = transfer(int(number, 1), into)
      if (bytes == 2) place = transfer(int(number, 2), into)
      if (bytes == 4) place = transfer(int(number, 4), into)
      if (bytes == 8) place = transfer(int(number, 8), into)
    end associate
  end subroutine

  subroutine put_real(number, bytes, into, at)
    real(wide), intent(in) :: number
    integer, intent(in) :: bytes, at
    integer(1), intent(inout) :: into(:)
    associate (place => into(bytes * (at - 1) + 1:bytes * at))
      if (bytes == 4) place = transfer(real(number, 4), into)
      if (bytes == 8) place = transfer(real(number, 8), into)
      if (bytes == 16) place = transfer(number, into)
    end associate
  end subroutine

  ! Hosts take reals of 16 bytes for C's long double, where they reduce them at all.
  logical function host_has(type)
    HANDLE(MPI_Datatype), intent(in) :: type
    real(wide) :: some(2)
    integer :: code
    host_has = .false.
    if (type == MPI_DATATYPE_NULL .or. storage_size(some) /= 128) return
    some = 0.25_wide
    call MPI_Reduce_local([0.25_wide, 0.25_wide], some, 1, type, MPI_SUM, code)
    host_has = code == MPI_SUCCESS .and. some(1) == 0.5_wide
  end function

  ! The reduction of `values` in every way.
  subroutine check(type, operation, bytes)
    HANDLE(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: operation, bytes
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Request) :: requests(3)
#if BINDING == 3
    type(MPI_Status) :: statuses(3)
#else
    integer :: statuses(MPI_STATUS_SIZE, 3)
#endif
    integer(1), dimension(bytes * size), asynchronous :: mine, got, scanned, started
    integer(1) :: own_element(bytes)
    integer :: counts(size), root, round
    checked = checked + 1
    checked_operation = operation
    call MPI_Type_get_name(type, checked_type, length, error)
    op = operations(operation)
    mine = values(:, rank + 1)
    own_element = results(bytes * rank + 1:bytes * (rank + 1), size)
    root = size - 1
    counts = 1

    got = 0
    call MPI_Allreduce(mine, got, size, type, op, MPI_COMM_WORLD, error)
    call judge('allreduce', got, results(:, size))
    got = mine
    call MPI_Allreduce(MPI_IN_PLACE, got, size, type, op, MPI_COMM_WORLD, error)
    call judge('allreduce in place', got, results(:, size))
    got = 0
    call MPI_Reduce(mine, got, size, type, op, root, MPI_COMM_WORLD, error)
    if (rank == root) call judge('reduce', got, results(:, size))
    got = mine
    if (rank /= root) call MPI_Reduce(mine, got, size, type, op, root, MPI_COMM_WORLD, error)
    if (rank == root) then
      call MPI_Reduce(MPI_IN_PLACE, got, size, type, op, root, MPI_COMM_WORLD, error)
      call judge('reduce in place', got, results(:, size))
    end if
    got = 0
    call MPI_Scan(mine, got, size, type, op, MPI_COMM_WORLD, error)
    call judge('scan', got, results(:, rank + 1))
    got = mine
    call MPI_Exscan(MPI_IN_PLACE, got, size, type, op, MPI_COMM_WORLD, error)
    if (rank > 0) call judge('exscan in place', got, results(:, rank))
    got = 0
    call MPI_Reduce_scatter_block(mine, got, 1, type, op, MPI_COMM_WORLD, error)
    call judge('reduce_scatter_block', got(:bytes), own_element)
    got = mine
    call MPI_Reduce_scatter(MPI_IN_PLACE, got, counts, type, op, MPI_COMM_WORLD, error)
    call judge('reduce_scatter in place', got(:bytes), own_element)

    got = mine
    call MPI_Iallreduce(MPI_IN_PLACE, got, size, type, op, MPI_COMM_WORLD, requests(1), error)
    call MPI_Iscan(mine, scanned, size, type, op, MPI_COMM_WORLD, requests(2), error)
    call ALLREDUCE_INIT(mine, started, size, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        requests(3), error)
    do round = 1, 2
      started = 0
      call MPI_Start(requests(3), error)
      call MPI_Waitall(3, requests, statuses, error)
      call judge('allreduce_init', started, results(:, size))
    end do
    call MPI_Request_free(requests(3), error)
    call judge('iallreduce in place', got, results(:, size))
    call judge('iscan', scanned, results(:, rank + 1))
  end subroutine

  subroutine judge(way, got, wanted)
    character(*), intent(in) :: way
    integer(1), intent(in) :: got(:), wanted(:)
    if (all(got == wanted)) return
    wrong = wrong + 1
    print *, 'FAILED: ', way, ' of ', names(6 * checked_operation - 5:6 * checked_operation), &
             ' on ', trim(checked_type)
  end subroutine

#if BINDING == 3
  subroutine multiply(first, second, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: first, second
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: left(:, :), right(:, :)
    integer :: i
    if (datatype /= matrix) wrong = wrong + 1
    call c_f_pointer(first, left, [4, length])
    call c_f_pointer(second, right, [4, length])
    do i = 1, length
      right(:, i) = product_of(left(:, i), right(:, i))
    end do
  end subroutine
#endif
end program

#if BINDING != 3
subroutine multiply(left, right, length, datatype)
  implicit none
  integer, intent(in) :: length, datatype, left(4, length)
  integer, intent(inout) :: right(4, length)
  integer :: i
  do i = 1, length
    right(:, i) = mod(reshape(matmul(reshape(left(:, i), [2, 2]), reshape(right(:, i), [2, 2])), &
                              [4]), 251)
  end do
  if (datatype == 0) return
end subroutine
#endif
