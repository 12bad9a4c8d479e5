/* SPDX-License-Identifier: MIT */
/*
 * disagree.c: disagree ITEM VALUE: the last rank says that it has another value of what has to be equal in all
 * processes, in a function that MPI calls in place of the library's. MPI_Init has to fail in all ranks.
 */
#define _GNU_SOURCE
#include <bufenlarge.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*agreement_function_t)(const bufenlarge_context_t *, char *, size_t);
static const char *item = "";
static const char *value = "";

static int is_last_rank(void)
{
    const char *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");
    return rank != NULL && size != NULL && atoi(rank) == atoi(size) - 1;
}

/* Found before the library's own, and called in its place. */
void bufenlarge_context_agreement(const bufenlarge_context_t *context, char *text, size_t text_bytes)
{
    char all[BUFENLARGE_MESSAGE_BYTES];
    agreement_function_t library;
    char *at, *end;

    *(void **) &library = dlsym(RTLD_NEXT, "bufenlarge_context_agreement");
    library(context, text, text_bytes);
    at = strstr(text, item);
    if (!is_last_rank() || at == NULL)
        return;
    snprintf(all, sizeof(all), "%s", text);
    end = strchr(all + (at - text), '\n');
    snprintf(at, text_bytes - (size_t) (at - text), "%s %s%s", item, value, end == NULL ? "" : end);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: disagree ITEM VALUE\n");
        return 2;
    }
    item = argv[1];
    value = argv[2];
    MPI_Init(NULL, NULL);
    MPI_Finalize();
    printf(" No Errors\n");
    return 0;
}
