! SPDX-License-Identifier: MIT
! Messages, a reduction and a section of an array with the module mpi_f08: each process sends to the next. Prints
! "right" when every process has received what it should have.
program ring_f08
  use mpi_f08
  implicit none
  integer, parameter :: sizes(4) = [1, 100, 5000, 200000]
  integer :: rank, processes, i, n, wrong, total
  double precision, allocatable :: there(:), here(:)
  type(MPI_Request) :: request
  type(MPI_Status) :: status

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, processes)
  wrong = 0
  do i = 1, size(sizes)
    n = sizes(i)
    allocate (there(n), here(n))
    there = [(rank * 1000000d0 + n, n = 1, sizes(i))]
    n = sizes(i)
    here = -1
    call MPI_Irecv(here, n, MPI_DOUBLE_PRECISION, modulo(rank - 1, processes), i, MPI_COMM_WORLD, request)
    call MPI_Send(there, n, MPI_DOUBLE_PRECISION, modulo(rank + 1, processes), i, MPI_COMM_WORLD)
    call MPI_Wait(request, status)
    wrong = wrong + count(here /= there - rank * 1000000d0 + modulo(rank - 1, processes) * 1000000d0)
    if (status%MPI_SOURCE /= modulo(rank - 1, processes) .or. status%MPI_TAG /= i) wrong = wrong + 1
    if (MPI_SUBARRAYS_SUPPORTED .and. n > 1) then
      here = -1
      call MPI_Irecv(here(1:n:2), n / 2, MPI_DOUBLE_PRECISION, modulo(rank - 1, processes), 9, MPI_COMM_WORLD, request)
      call MPI_Send(there(2:n:2), n / 2, MPI_DOUBLE_PRECISION, modulo(rank + 1, processes), 9, MPI_COMM_WORLD)
      call MPI_Wait(request, status)
      wrong = wrong + count(here(2:n:2) /= -1)
      wrong = wrong + count(here(1:n:2) /= there(2:n:2) + (modulo(rank - 1, processes) - rank) * 1000000d0)
    end if
    deallocate (there, here)
  end do
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. total == 0) print '(a)', 'right'
  if (rank == 0 .and. total /= 0) print '(i0, a)', total, ' elements are wrong'
  call MPI_Finalize()
end program
