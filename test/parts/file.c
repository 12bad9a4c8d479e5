/* SPDX-License-Identifier: MIT */
/* file NAME: each process writes its elements of a file, one in so many as there are processes, all together; then each
 * reads those of the next process, at once and by a request. Process 0 reads the whole file without MPI, too. Prints
 * "right" when all is. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kElements = 100000 };

static int rank, processes;
static int elements[kElements];

static void open_view(const char *name, int mode, int whose, MPI_File *file)
{
    MPI_Datatype each;
    if (MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Type_vector(kElements, 1, processes, MPI_INT, &each);
    MPI_Type_commit(&each);
    MPI_File_set_view(*file, (MPI_Offset) whose * (MPI_Offset) sizeof(int), MPI_INT, each, "native", MPI_INFO_NULL);
    MPI_Type_free(&each);
}

static int wrong_of(int whose)
{
    int wrong = 0;
    for (int i = 0; i < kElements; i++)
        wrong += elements[i] != i * processes + whose;
    return wrong;
}

static int wrong_in_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    int element, wrong = file == NULL;
    for (int i = 0; file != NULL && i < kElements * processes; i++)
        wrong += fread(&element, sizeof element, 1, file) != 1 || element != i;
    if (file != NULL)
        fclose(file);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    int wrong = 0, total, count;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < kElements; i++)
        elements[i] = i * processes + rank;
    open_view(argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, rank, &file);
    MPI_File_write_all(file, elements, kElements, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    wrong += count != kElements;
    MPI_File_close(&file);
    if (rank == 0)
        wrong += wrong_in_file(argv[1]);

    int next = (rank + 1) % processes;
    open_view(argv[1], MPI_MODE_RDONLY, next, &file);
    MPI_File_read_all(file, elements, kElements, MPI_INT, &status);
    wrong += wrong_of(next);
    for (int i = 0; i < kElements; i++)
        elements[i] = -1;
    MPI_File_iread_at(file, 0, elements, kElements, MPI_INT, &request);
    MPI_Wait(&request, &status);
    wrong += wrong_of(next);
    MPI_File_close(&file);
    MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && total == 0)
        puts("right");
    if (rank == 0 && total != 0)
        printf("%d elements are wrong\n", total);
    MPI_Finalize();
    return 0;
}
