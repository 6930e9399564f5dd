#include "function/landlock.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "function/sandbox.h"

/* What libraries look at, beside what a function asks for. Those that are missing are left out. */
static const char *const readable[] = {
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share", /* Time zones, languages. */
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/sys/devices/system/cpu", /* How many there are: OpenMP. */
    "/sys/devices/system/node",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/vm/overcommit_memory",
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
#ifdef WEFT_SANITIZED
    "/proc", /* Sanitizers read what is mapped. */
#endif
    NULL,
};

static bool allow(int rules, const char *path)
{
    struct stat about;
    const int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) {
        return true; /* Not there: nothing to allow. */
    }
    struct landlock_path_beneath_attr rule = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = file};
    if (fstat(file, &about) == 0 && S_ISDIR(about.st_mode)) {
        rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
    }
    const bool is_added =
        syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    (void)close(file); /* It was only a name. */
    return is_added;
}

/* All that a kernel of @version can forbid: a bit more each time. */
static uint64_t all_of(long version)
{
    uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
    if (version >= 2) {
        all |= LANDLOCK_ACCESS_FS_MAKE_SYM << 1; /* Linking into another folder. */
    }
    if (version >= 3) {
        all |= LANDLOCK_ACCESS_FS_MAKE_SYM << 2; /* Truncating. */
    }
    return all;
}

bool function_landlock_enter(const char *folder)
{
    const long version =
        syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
        return false;
    }
    const struct landlock_ruleset_attr attributes = {.handled_access_fs = all_of(version)};
    const int rules =
        (int)syscall(__NR_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    if (rules < 0) {
        return false;
    }
    bool is_good = allow(rules, folder);
    for (uint32_t i = 0; readable[i] != NULL && is_good; i++) {
        is_good = allow(rules, readable[i]);
    }
    is_good = is_good && syscall(__NR_landlock_restrict_self, rules, 0) == 0;
    (void)close(rules); /* They are in force, or of no use. */
    return is_good;
}
