// SPDX-License-Identifier: MIT
// The same in C++, with the types that MPI has for it, and with the classes of MPI-2, which MPICH keeps.
#include <mpi.h>

#include <complex>
#include <cstdio>
#include <vector>

namespace {

using Number = std::complex<double>;

int wrong_elements(int rank, int processes, int count) {
  const int before = (rank + processes - 1) % processes;
  std::vector<Number> there(count);
  std::vector<Number> here(count, Number(-1, -1));
  for (int i = 0; i < count; ++i) there[i] = Number(i, rank);
  MPI_Request request;
  MPI_Irecv(here.data(), count, MPI_CXX_DOUBLE_COMPLEX, before, count, MPI_COMM_WORLD, &request);
  MPI_Send(there.data(), count, MPI_CXX_DOUBLE_COMPLEX, (rank + 1) % processes, count, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += here[i] != Number(i, before);
  return wrong;
}

// The classes of MPI-2: a message, and an error that is an exception.
int wrong_classes(int rank, int processes) {
  const int next = (rank + 1) % processes;
  const int before = (rank + processes - 1) % processes;
  int here[2] = {-1, -1};
  MPI::COMM_WORLD.Sendrecv(&rank, 1, MPI::INT, next, 1, here, 1, MPI::INT, before, 1);
  int wrong = here[0] != before;
  MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  MPI::Request request = MPI::COMM_WORLD.Isend(here, 2, MPI::INT, next, 2);
  int one = 0;
  try {
    MPI::COMM_WORLD.Recv(&one, 1, MPI::INT, before, 2);
    ++wrong;
  } catch (MPI::Exception& error) {
    wrong += error.Get_error_class() != MPI::ERR_TRUNCATE;
  }
  request.Wait();
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int processes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  int wrong = wrong_classes(rank, processes);
  for (const int count : {1, 100, 5000, 200'000}) wrong += wrong_elements(rank, processes, count);
  const bool all_here = true;
  bool all = false;
  MPI_Allreduce(&all_here, &all, 1, MPI_CXX_BOOL, MPI_LAND, MPI_COMM_WORLD);
  if (!all) ++wrong;
  int total = 0;
  MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    if (total == 0) std::puts("right");
    if (total != 0) std::printf("%d elements are wrong\n", total);
  }
  MPI_Finalize();
}
