! SPDX-License-Identifier: MIT
! The same with the module mpi, with complex numbers and a type of MPI_Type_create_f90_real.
program ring_f90
  use mpi
  implicit none
  integer, parameter :: sizes(4) = [1, 100, 5000, 200000]
  integer :: rank, processes, i, j, n, wrong, total, code, request, real_type
  integer :: status(MPI_STATUS_SIZE)
  double complex, allocatable :: there(:), here(:)
  real(kind=selected_real_kind(15, 300)) :: part, parts

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, code)
  wrong = 0
  do i = 1, size(sizes)
    n = sizes(i)
    allocate (there(n), here(n))
    there = [(dcmplx(j, rank), j = 1, n)]
    here = -1
    call MPI_Irecv(here, n, MPI_DOUBLE_COMPLEX, modulo(rank - 1, processes), i, MPI_COMM_WORLD, request, code)
    call MPI_Send(there, n, MPI_DOUBLE_COMPLEX, modulo(rank + 1, processes), i, MPI_COMM_WORLD, code)
    call MPI_Wait(request, status, code)
    wrong = wrong + count(here /= [(dcmplx(j, modulo(rank - 1, processes)), j = 1, n)])
    if (status(MPI_SOURCE) /= modulo(rank - 1, processes) .or. status(MPI_TAG) /= i) wrong = wrong + 1
    deallocate (there, here)
  end do
  call MPI_Type_create_f90_real(15, 300, real_type, code)
  part = rank
  call MPI_Allreduce(part, parts, 1, real_type, MPI_SUM, MPI_COMM_WORLD, code)
  if (nint(parts) /= processes * (processes - 1) / 2) wrong = wrong + 1
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0 .and. total == 0) print '(a)', 'right'
  if (rank == 0 .and. total /= 0) print '(i0, a)', total, ' elements are wrong'
  call MPI_Finalize(code)
end program
