! SPDX-License-Identifier: MIT
! The same with mpif.h, in fixed form, with MPI_IN_PLACE and MPI_BOTTOM, which are addresses of common blocks.
      program ringf77
      implicit none
      include 'mpif.h'
      integer sizes(4), rank, procs, i, j, wrong, total, code
      integer before, after, dtype, status(MPI_STATUS_SIZE)
      integer(kind=MPI_ADDRESS_KIND) place
      integer there(200000), here(200000)
      data sizes /1, 100, 5000, 200000/

      call MPI_INIT(code)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, procs, code)
      before = mod(rank + procs - 1, procs)
      after = mod(rank + 1, procs)
      wrong = 0
      do i = 1, 4
        do j = 1, sizes(i)
          there(j) = rank * 1000000 + j
          here(j) = -1
        end do
        call MPI_SENDRECV(there, sizes(i), MPI_INTEGER, after, i,
     &    here, sizes(i), MPI_INTEGER, before, i, MPI_COMM_WORLD,
     &    status, code)
        do j = 1, sizes(i)
          if (here(j) .ne. before * 1000000 + j) wrong = wrong + 1
        end do
        if (status(MPI_SOURCE) .ne. before) wrong = wrong + 1
      end do
      call MPI_GET_ADDRESS(there, place, code)
      call MPI_TYPE_CREATE_HINDEXED(1, 200000, place, MPI_INTEGER,
     &  dtype, code)
      call MPI_TYPE_COMMIT(dtype, code)
      call MPI_SENDRECV(MPI_BOTTOM, 1, dtype, after, 7, here, 200000,
     &  MPI_INTEGER, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE,
     &  code)
      do j = 1, 200000
        if (here(j) .ne. before * 1000000 + j) wrong = wrong + 1
      end do
      call MPI_TYPE_FREE(dtype, code)
      total = wrong
      call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM,
     &  MPI_COMM_WORLD, code)
      if (rank .eq. 0 .and. total .eq. 0) print '(a)', 'right'
      if (rank .eq. 0 .and. total .ne. 0)
     &  print '(i0, a)', total, ' elements are wrong'
      call MPI_FINALIZE(code)
      end
