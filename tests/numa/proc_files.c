/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers of /proc. Lines longer than the room for one are read in part: none that is looked at here is. */
#define _GNU_SOURCE /* gettid by number */

#include "proc_files.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool proc_mapping_of(const void *address, proc_mapping *mapping)
{
    FILE *file = fopen("/proc/self/numa_maps", "r");
    if (file == NULL) {
        return false;
    }
    char line[1024];
    char best[1024] = "";
    uint64_t best_start = 0;
    /* Lines ascend; the last that does not start above the address is its own. */
    while (fgets(line, sizeof(line), file) != NULL) {
        const uint64_t start = strtoull(line, NULL, 16);
        if (start <= (uint64_t)(uintptr_t)address && start >= best_start) {
            best_start = start;
            memcpy(best, line, sizeof(best));
        }
    }
    (void)fclose(file);
    memset(mapping, 0, sizeof(*mapping));
    if (sscanf(best, "%*x %31s", mapping->policy) != 1) {
        return false;
    }
    for (const char *at = best; (at = strstr(at, " N")) != NULL; at += 2) {
        unsigned node = 0;
        uint64_t pages = 0;
        if (sscanf(at, " N%u=%" SCNu64, &node, &pages) == 2 && node < 8) {
            mapping->pages[node] = pages;
        }
    }
    return true;
}

/* The CPUs in one thread's status file. */
static bool allowed_cpus(const char *thread, tnr_cpu_set *set)
{
    char path[64];
    char line[4096];
    bool found = false;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    while (!found && fgets(line, sizeof(line), file) != NULL) {
        char list[4000];
        if (sscanf(line, "Cpus_allowed_list: %3999s", list) == 1) {
            found = tnr_cpu_set_parse(list, set) == TNR_OK;
        }
    }
    (void)fclose(file);
    return found;
}

int proc_other_threads(tnr_cpu_set *allowed, int room)
{
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) {
        return -1;
    }
    char own[24];
    (void)snprintf(own, sizeof(own), "%ld", syscall(SYS_gettid));
    int count = 0;
    for (const struct dirent *entry = readdir(threads); entry != NULL; entry = readdir(threads)) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0) {
            continue;
        }
        if (count == room || !allowed_cpus(entry->d_name, &allowed[count])) {
            count = -1;
            break;
        }
        count++;
    }
    (void)closedir(threads);
    return count;
}

int64_t proc_huge_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL) {
        return -1;
    }
    char line[256];
    int64_t kilobytes = -1;
    while (kilobytes < 0 && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "AnonHugePages: %" SCNd64 " kB", &kilobytes);
    }
    (void)fclose(file);
    return kilobytes < 0 ? -1 : kilobytes * 1024;
}
