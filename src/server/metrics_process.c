/*
 * metrics_process.c - what the system knows of this process, under the names that Prometheus'
 * own clients use, and which build it is. What cannot be found out is left out.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/metrics.h"

enum { STAT_BYTES = 1024, STAT_FIELDS = 24 };

/* Places in /proc/self/stat, counted from the state, which follows the name. */
enum { STAT_USER = 11, STAT_SYSTEM = 12, STAT_STARTED = 19, STAT_VIRTUAL = 20, STAT_RESIDENT = 21 };

static bool read_stat(double values_out[static STAT_FIELDS])
{
    char text[STAT_BYTES];
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL) {
        return false;
    }
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);            /* It was only read. */
    char *at = strrchr(text, ')'); /* A name may hold anything. */
    if (at == NULL || at[1] != ' ') {
        return false;
    }
    at += 3; /* The state is a letter. */
    for (uint32_t i = 1; i < STAT_FIELDS; i++) {
        char *end = NULL;
        values_out[i] = strtod(at, &end);
        if (end == at) {
            return false;
        }
        at = end;
    }
    return true;
}

/* When the machine was started, in seconds since 1970; 0: unknown. */
static double boot_time_s(void)
{
    char line[256];
    double boot_s = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file != NULL && boot_s == 0 && fgets(line, sizeof(line), file) != NULL) {
        boot_s = strncmp(line, "btime ", 6) == 0 ? strtod(line + 6, NULL) : 0;
    }
    if (file != NULL) {
        (void)fclose(file); /* It was only read. */
    }
    return boot_s;
}

/* Descriptors that are open; 0: unknown. */
static double count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t count = 0;
    if (folder == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] == '.' ? 0 : 1;
    }
    (void)closedir(folder);             /* It was only read. */
    return count > 0 ? count - 1.0 : 0; /* One was the folder. */
}

static bool write_stat(struct buffer *buffer)
{
    double stat[STAT_FIELDS];
    const double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    const double boot_s = boot_time_s();
    if (!read_stat(stat)) {
        return true;
    }
    return metrics_write_one(
               buffer, "process_cpu_seconds_total", "counter", "processor time, user and system",
               (stat[STAT_USER] + stat[STAT_SYSTEM]) / ticks_per_s) &&
           metrics_write_one(
               buffer, "process_resident_memory_bytes", "gauge", "memory in use",
               stat[STAT_RESIDENT] * (double)sysconf(_SC_PAGESIZE)) &&
           metrics_write_one(
               buffer, "process_virtual_memory_bytes", "gauge", "addresses in use",
               stat[STAT_VIRTUAL]) &&
           (boot_s == 0 || metrics_write_one(
                               buffer, "process_start_time_seconds", "gauge",
                               "when the process was started, since 1970",
                               boot_s + stat[STAT_STARTED] / ticks_per_s));
}

bool metrics_write_process(struct buffer *buffer)
{
    struct rlimit limit;
    const double open = count_descriptors();
    bool is_good = write_stat(buffer);
    if (is_good && open > 0) {
        is_good = metrics_write_one(
            buffer, "process_open_fds", "gauge", "descriptors that are open", open);
    }
    if (is_good && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        is_good = metrics_write_one(
            buffer, "process_max_fds", "gauge", "descriptors that may be open",
            (double)limit.rlim_cur);
    }
    return is_good &&
           buffer_add(
               buffer,
               "# HELP weft_build_info always 1; its labels say which build this is\n"
               "# TYPE weft_build_info gauge\n"
               "weft_build_info{version=\"" WEFT_VERSION "\",compiler=\"" __VERSION__ "\"} 1\n");
}

bool metrics_write_ready(struct buffer *buffer, bool is_ready)
{
    return metrics_write_one(
        buffer, "weft_ready", "gauge", "1 while requests are answered; 0 at the start and the end",
        is_ready ? 1 : 0);
}
