! Collectives through `use mpi`: arrays of Fortran's types, MPI_IN_PLACE, predefined operations, and
! a user-defined operation that does not commute.
program main
  use mpi
  implicit none
  external chain
  integer, parameter :: n = 3
  integer :: code, rank, ranks, i, r, wrong
  integer, allocatable :: blocks(:), counts(:), places(:)
  integer :: own(n), pairs(2, n), chained(2, n), expected(2, n), next(2, n), op, pair
  double precision :: numbers(n), sums(n)
  real :: found(2, n)
  complex :: waves(n), product(n)
  logical :: flags(2), any_flags(2)
  integer(8) :: long(n)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  wrong = 0
  allocate(blocks(n * ranks), counts(ranks), places(ranks))
  counts = n
  places = [(n * (i - 1), i = 1, ranks)]

  own = 0
  if (rank == 1) own = [7, 8, 9]
  call MPI_Bcast(own, n, MPI_INTEGER, 1, MPI_COMM_WORLD, code)
  call judge(all_equal(own, [7, 8, 9]))

  own = rank * 10 + [1, 2, 3]
  call MPI_Gather(own, n, MPI_INTEGER, blocks, n, MPI_INTEGER, 2, MPI_COMM_WORLD, code)
  if (rank == 2) call judge(whole())
  call MPI_Gatherv(own, n, MPI_INTEGER, blocks, counts, places, MPI_INTEGER, 0, &
                   MPI_COMM_WORLD, code)
  if (rank == 0) call judge(whole())
  blocks = -1
  call MPI_Allgather(own, n, MPI_INTEGER, blocks, n, MPI_INTEGER, MPI_COMM_WORLD, code)
  call judge(whole())
  blocks = -1
  blocks(n * rank + 1:n * rank + n) = own
  call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, counts, places, MPI_INTEGER, &
                      MPI_COMM_WORLD, code)
  call judge(whole())
  own = 0
  call MPI_Scatter(blocks, n, MPI_INTEGER, own, n, MPI_INTEGER, 1, MPI_COMM_WORLD, code)
  call judge(all_equal(own, rank * 10 + [1, 2, 3]))
  own = 0
  call MPI_Scatterv(blocks, counts, places, MPI_INTEGER, own, n, MPI_INTEGER, 0, &
                    MPI_COMM_WORLD, code)
  call judge(all_equal(own, rank * 10 + [1, 2, 3]))
  call MPI_Barrier(MPI_COMM_WORLD, code)

  numbers = rank + [0.5d0, 1.5d0, 2.5d0]
  call MPI_Allreduce(numbers, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  call judge(maxval(abs(sums - (ranks * (ranks - 1) / 2 + ranks * [0.5d0, 1.5d0, 2.5d0]))) == 0)
  call MPI_Scan(MPI_IN_PLACE, numbers, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, code)
  call judge(maxval(abs(numbers - (rank + [0.5d0, 1.5d0, 2.5d0]))) == 0)
  found(1, :) = real(mod(rank, 2))
  found(2, :) = real(rank)
  call MPI_Allreduce(MPI_IN_PLACE, found, n, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, code)
  call judge(all(int(found(1, :)) == 1 .and. int(found(2, :)) == 1))
  waves = cmplx(1.0, 1.0)
  if (rank == 0) waves = cmplx(2.0, 0.0)
  call MPI_Reduce(waves, product, n, MPI_COMPLEX, MPI_PROD, 0, MPI_COMM_WORLD, code)
  ! 2 times (1 + i) to the power of ranks - 1, whose fourth power is -4.
  if (rank == 0 .and. ranks == 5) call judge(all(product == cmplx(-8.0, 0.0)))
  if (rank == 0 .and. ranks == 4) call judge(all(product == cmplx(-4.0, 4.0)))
  flags = [rank == ranks - 1, .false.]
  call MPI_Allreduce(flags, any_flags, 2, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, code)
  call judge(any_flags(1) .and. .not. any_flags(2))
  long = 2_8**40 * [1, 2, 3]
  call MPI_Allreduce(MPI_IN_PLACE, long, n, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, code)
  call judge(all(long == ranks * 2_8**40 * [1, 2, 3]))
  blocks = rank + 1
  call MPI_Reduce_scatter(blocks, own, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  call judge(all(own == ranks * (ranks + 1) / 2))
  call MPI_Reduce_scatter_block(blocks, own, n, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, code)
  call judge(all(own == 1))

  call MPI_Op_create(chain, .false., op, code)
  call MPI_Type_contiguous(2, MPI_INTEGER, pair, code)
  call MPI_Type_commit(pair, code)
  pairs = pairs_of(rank)
  expected = pairs_of(0)
  do r = 1, ranks - 1
    next = pairs_of(r)
    call chain(expected, next, n, pair)
    expected = next
  end do
  call MPI_Allreduce(pairs, chained, n, pair, op, MPI_COMM_WORLD, code)
  call judge(all(chained == expected))
  call MPI_Exscan(pairs, chained, n, pair, op, MPI_COMM_WORLD, code)
  expected = pairs_of(0)
  do r = 1, rank - 1
    next = pairs_of(r)
    call chain(expected, next, n, pair)
    expected = next
  end do
  if (rank > 0) call judge(all(chained == expected))
  call MPI_Type_free(pair, code)
  call MPI_Op_free(op, code)

  if (wrong /= 0) then
    print *, 'FAILED:', wrong, ' calls on rank', rank
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end if
  call MPI_Finalize(code)
contains
  subroutine judge(right)
    logical, intent(in) :: right
    if (.not. right) wrong = wrong + 1
  end subroutine

  logical function all_equal(left, right)
    integer, intent(in) :: left(n), right(n)
    all_equal = maxval(abs(left - right)) == 0
  end function

  logical function whole()
    integer :: j
    whole = maxval(abs(blocks - [((j / n) * 10 + mod(j, n) + 1, j = 0, n * ranks - 1)])) == 0
  end function

  function pairs_of(who) result(result)
    integer, intent(in) :: who
    integer :: result(2, n), j
    do j = 1, n
      result(:, j) = [who * 3 + j, who + 2 * j]
    end do
  end function
end program

! Composition of maps x -> a x + b modulo a prime: pairs (a, b).
subroutine chain(first, second, length, datatype)
  implicit none
  integer, intent(in) :: length, datatype
  integer, intent(in) :: first(2, length)
  integer, intent(inout) :: second(2, length)
  integer :: i, a, b
  do i = 1, length
    a = second(1, i)
    b = second(2, i)
    second(1, i) = mod(a * first(1, i), 10007)
    second(2, i) = mod(a * first(2, i) + b, 10007)
  end do
  if (datatype == 0) return
end subroutine
