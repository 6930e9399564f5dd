#include "function/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/units.h"
#include "function/filter.h"
#include "function/landlock.h"

enum { NOBODY = 65534, FILES_MAX = 256, THREADS_MAX = 4096, KEPT_MAX = 32, IDLE_CPU_S = 60 };

/* Room for addresses that are not memory: stacks and arenas of threads, files that are mapped. */
#define ADDRESS_BYTES_MORE (UINT64_C(16) << 30)

/* At most @most, hard and soft; never more than there was. */
static void limit(int resource, uint64_t most)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) == 0) {
        now.rlim_max = now.rlim_max < most ? now.rlim_max : (rlim_t)most;
        now.rlim_cur = now.rlim_max;
        (void)setrlimit((__rlimit_resource_t)resource, &now); /* Lower is always allowed. */
    }
}

int64_t function_sandbox_cpu_s(const struct function_limits *limits)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t call_s = limits->run_ns_max / NS_PER_S + 1;
    return 2 * call_s * (processors > 0 ? processors : 1) + IDLE_CPU_S;
}

static void limit_all(const struct function_limits *limits)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (uint64_t)function_sandbox_cpu_s(limits));
    limit(RLIMIT_FSIZE, limits->output_bytes_max);
    limit(RLIMIT_NOFILE, FILES_MAX);
    limit(RLIMIT_NPROC, THREADS_MAX);
#ifndef WEFT_SANITIZED /* They keep many times the memory in maps of their own. */
    limit(RLIMIT_DATA, limits->memory_bytes_max);
    limit(RLIMIT_AS, 2 * limits->memory_bytes_max + ADDRESS_BYTES_MORE);
#endif
}

/* If the machine runs out of memory, this is the process to end. */
static void volunteer(void)
{
    const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "500", 3); /* Without it the kernel chooses by size alone. */
        (void)close(file);
    }
}

#ifndef WEFT_SANITIZED

/* Whether the user nobody could read @folder. */
static bool can_nobody_read(const char *folder)
{
    if (setresgid((gid_t)-1, NOBODY, (gid_t)-1) != 0) {
        return false;
    }
    const bool is_changed = setresuid((uid_t)-1, NOBODY, (uid_t)-1) == 0;
    const bool can_read = is_changed && faccessat(AT_FDCWD, folder, R_OK | X_OK, AT_EACCESS) == 0;
    (void)setresuid((uid_t)-1, 0, (uid_t)-1); /* As it was: the real user is still root. */
    (void)setresgid((gid_t)-1, 0, (gid_t)-1);
    return can_read;
}

/* Root becomes nobody, if that user can still do the work; else it is root without rights. */
static void change_user(const char *folder)
{
    if (geteuid() != 0) {
        return;
    }
    (void)setgroups(0, NULL); /* Not allowed in some containers, and of no weight there. */
    if (can_nobody_read(folder) && setresgid(NOBODY, NOBODY, NOBODY) == 0) {
        (void)!setresuid(NOBODY, NOBODY, NOBODY); /* Not a user everywhere: see above. */
    }
}

#endif

static void drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}, {0, 0, 0}};
    (void)syscall(SYS_capset, &head, none); /* Fewer is always allowed. */
}

void function_sandbox_enter(const char *folder, const struct function_limits *limits, bool says)
{
    volunteer();
    limit_all(limits);
    if (limits->no_sandbox) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
#ifdef WEFT_SANITIZED /* They read /proc/self, which is root's after a change of user. */
    (void)folder;
#else
    change_user(folder);
#endif
    drop_capabilities();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* A change of user has undone it. */
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!function_filter_enter() && says) {
        (void)fprintf(
            stderr, "this kernel cannot filter system calls (%s): functions may make any\n",
            strerror(errno));
    }
}

void function_sandbox_close(const char *folder, const struct function_limits *limits, bool says)
{
    if (!limits->no_sandbox && !function_landlock_enter(folder) && says) {
        (void)fprintf(
            stderr, "this kernel has no Landlock (%s): functions may read what user %u may\n",
            strerror(errno), (unsigned)geteuid());
    }
}

static bool is_kept(const char *variable)
{
    static const char *const names[] = {"PATH=", "LANG=", "TZ=", NULL};
    static const char *const beginnings[] = {"LC_", "OMP_", "GOMP_", "OPENBLAS_", NULL};
    bool is_known = false;
    for (uint32_t i = 0; names[i] != NULL; i++) {
        is_known = is_known || strncmp(variable, names[i], strlen(names[i])) == 0;
    }
    for (uint32_t i = 0; beginnings[i] != NULL; i++) {
        is_known = is_known || strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0;
    }
    return is_known;
}

void function_sandbox_environment(void)
{
    static char *kept[KEPT_MAX + 1];
    uint32_t count = 0;
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        if (count < KEPT_MAX && is_kept(*at)) {
            kept[count++] = *at;
        } else {
            memset(*at, 0, strlen(*at)); /* A function could find it behind its stack. */
        }
    }
    kept[count] = NULL;
    environ = kept;
}
