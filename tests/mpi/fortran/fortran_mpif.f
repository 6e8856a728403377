C     The collectives of a program of the old kind: mpif.h, fixed form.
      program main
      implicit none
      include 'mpif.h'
      integer n
      parameter (n = 3)
      integer code, rank, ranks, i, wrong
      integer send(n * 64), recv(n * 64)
      call MPI_INIT(code)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
      wrong = 0
      do i = 1, n * ranks
        send(i) = rank * 10000 + i
        recv(i) = -1
      end do
      call MPI_ALLTOALL(send, n, MPI_INTEGER, recv, n, MPI_INTEGER,
     &                  MPI_COMM_WORLD, code)
      do i = 1, n * ranks
        if (recv(i) .ne. ((i - 1) / n) * 10000 + rank * n
     &      + mod(i - 1, n) + 1) wrong = wrong + 1
      end do
      do i = 1, n * ranks
        recv(i) = rank * 10000 + i
      end do
      call MPI_ALLTOALL(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, n,
     &                  MPI_INTEGER, MPI_COMM_WORLD, code)
      do i = 1, n * ranks
        if (recv(i) .ne. ((i - 1) / n) * 10000 + rank * n
     &      + mod(i - 1, n) + 1) wrong = wrong + 1
      end do
      if (rank .eq. ranks - 1) send(1) = 77
      call MPI_BCAST(send, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD,
     &               code)
      if (send(1) .ne. 77) wrong = wrong + 1
      send(1) = rank + 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, send, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, code)
      if (send(1) .ne. ranks * (ranks + 1) / 2) wrong = wrong + 1
      call MPI_REDUCE(rank, recv, 1, MPI_INTEGER, MPI_MAX, 0,
     &                MPI_COMM_WORLD, code)
      if (rank .eq. 0 .and. recv(1) .ne. ranks - 1) wrong = wrong + 1
      call MPI_ALLGATHER(rank, 1, MPI_INTEGER, recv, 1, MPI_INTEGER,
     &                   MPI_COMM_WORLD, code)
      do i = 1, ranks
        if (recv(i) .ne. i - 1) wrong = wrong + 1
      end do
      call MPI_BARRIER(MPI_COMM_WORLD, code)
      if (wrong .ne. 0) call MPI_ABORT(MPI_COMM_WORLD, 1, code)
      call MPI_FINALIZE(code)
      end program main
