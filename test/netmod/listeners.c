/* SPDX-License-Identifier: MIT */
/* listeners.c: see listeners.h. */
#include "listeners.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STATE_LISTEN = 0x0a };

/* Whether one of the process' descriptors is the socket with this inode. */
static int has_socket(const char *pid, unsigned long inode)
{
    char folder[64], path[512], wanted[64], target[64];
    snprintf(folder, sizeof(folder), "/proc/%.20s/fd", pid);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    DIR *dir = opendir(folder);
    if (!dir)
        return 0;
    int found = 0;
    for (struct dirent *entry = readdir(dir); entry && !found; entry = readdir(dir)) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, target, sizeof(target) - 1);
        if (length < 0)
            continue;
        target[length] = '\0';
        found = strcmp(target, wanted) == 0;
    }
    closedir(dir);
    return found;
}

static void parent_of(const char *pid, char *parent, size_t parent_bytes)
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
    parent[0] = '\0';
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof(line), status)) {
        unsigned number;
        if (sscanf(line, "PPid: %u", &number) == 1)
            snprintf(parent, parent_bytes, "%u", number);
    }
    if (status)
        fclose(status);
}

static int is_own_socket(const char *pid, unsigned long inode)
{
    char parent[24];
    if (!has_socket(pid, inode))
        return 0;
    parent_of(pid, parent, sizeof(parent));
    return !has_socket(parent, inode);
}

int listeners_find(const char *const *pids, int pid_count, struct sockaddr_in *addresses,
                   int count_max)
{
    char line[512];
    int count = 0;
    FILE *table = fopen("/proc/net/tcp", "r");
    if (!table) {
        perror("/proc/net/tcp");
        exit(2);
    }
    while (count < count_max && fgets(line, sizeof(line), table)) {
        unsigned address, port, state;
        unsigned long inode;
        if (sscanf(line, " %*u: %x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &address, &port,
                   &state, &inode) != 4
            || state != STATE_LISTEN)
            continue;
        for (int i = 0; i < pid_count; i++) {
            if (!is_own_socket(pids[i], inode))
                continue;
            struct sockaddr_in *found = &addresses[count++];
            memset(found, 0, sizeof(*found));
            found->sin_family = AF_INET;
            found->sin_port = htons((unsigned short) port);
            /* The table has the address as the machine has it in memory: network order already. */
            found->sin_addr.s_addr = address == INADDR_ANY ? htonl(INADDR_LOOPBACK) : address;
            break;
        }
    }
    fclose(table);
    return count;
}

int listeners_await(const char *const *pids, int pid_count, struct sockaddr_in *addresses,
                    int count_max, int seconds)
{
    const struct timespec pause = { .tv_nsec = 20000000 };
    const time_t end = time(NULL) + seconds;
    int count;
    while ((count = listeners_find(pids, pid_count, addresses, count_max)) < pid_count) {
        if (time(NULL) > end) {
            fprintf(stderr, "listeners: expected %d processes to listen, found %d ports\n",
                    pid_count, count);
            exit(2);
        }
        nanosleep(&pause, NULL);
    }
    return count;
}
