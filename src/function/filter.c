#include "function/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/assert.h"
#include "base/units.h"

#if defined(__x86_64__)
#define FILTER_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef FILTER_ARCHITECTURE

enum { PROGRAM_MAX = 512, NEW_CALLS = 435 /* clone3, and all that came later. */ };

/* Always allowed. Numbers that only one architecture has stand by themselves. */
static const uint16_t allowed[] = {
    /* Descriptors that are open: there are few, and all its own. */
    __NR_read,
    __NR_readv,
    __NR_pread64,
    __NR_preadv,
    __NR_write,
    __NR_writev,
    __NR_pwrite64,
    __NR_pwritev,
    __NR_lseek,
    __NR_close,
    __NR_close_range,
    __NR_dup,
    __NR_dup3,
    __NR_pipe2,
    __NR_eventfd2,
    __NR_epoll_create1,
    __NR_epoll_ctl,
    __NR_epoll_pwait,
    __NR_ppoll,
    __NR_pselect6,
    __NR_sendto,
    __NR_recvfrom,
    __NR_fadvise64,
    /* Files, to look at. Opening them has a rule of its own. */
    __NR_fstat,
    __NR_newfstatat,
    __NR_statx,
    __NR_faccessat,
    __NR_readlinkat,
    __NR_getdents64,
    __NR_getcwd,
    __NR_fstatfs,
    __NR_statfs,
    /* Memory. mmap() has a rule of its own. */
    __NR_munmap,
    __NR_mprotect,
    __NR_mremap,
    __NR_madvise,
    __NR_brk,
    __NR_mincore,
    __NR_membarrier,
    __NR_get_mempolicy,
    /* Threads. clone() has a rule of its own. */
    __NR_futex,
    __NR_set_robust_list,
    __NR_get_robust_list,
    __NR_set_tid_address,
    __NR_rseq,
    __NR_sched_yield,
    __NR_sched_getaffinity,
    __NR_sched_getparam,
    __NR_sched_getscheduler,
    __NR_sched_get_priority_max,
    __NR_sched_get_priority_min,
    __NR_getcpu,
    __NR_exit,
    __NR_exit_group,
    /* Its own signals. */
    __NR_rt_sigaction,
    __NR_rt_sigprocmask,
    __NR_rt_sigreturn,
    __NR_rt_sigpending,
    __NR_rt_sigtimedwait,
    __NR_rt_sigsuspend,
    __NR_sigaltstack,
    __NR_restart_syscall,
    /* Time. */
    __NR_clock_gettime,
    __NR_clock_getres,
    __NR_clock_nanosleep,
    __NR_nanosleep,
    __NR_gettimeofday,
    __NR_times,
    /* What it is, and where. */
    __NR_getpid,
    __NR_getppid,
    __NR_gettid,
    __NR_getuid,
    __NR_geteuid,
    __NR_getgid,
    __NR_getegid,
    __NR_getgroups,
    __NR_getresuid,
    __NR_getresgid,
    __NR_getpgid,
    __NR_getsid,
    __NR_getrusage,
    __NR_getpriority,
    __NR_uname,
    __NR_sysinfo,
    __NR_getrandom,
    __NR_umask,
    __NR_capget,
    /* To give up more rights. */
    __NR_landlock_create_ruleset,
    __NR_landlock_add_rule,
    __NR_landlock_restrict_self,
#ifdef __x86_64__
    __NR_stat,
    __NR_lstat,
    __NR_access,
    __NR_readlink,
    __NR_poll,
    __NR_select,
    __NR_epoll_wait,
    __NR_dup2,
    __NR_pipe,
    __NR_time,
    __NR_getpgrp,
    __NR_getrlimit,
    __NR_arch_prctl,
#endif
};

/* The calls of fcntl() that touch nothing but the descriptor. */
static const uint32_t fcntl_allowed[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL};

struct program {
    struct sock_filter code[PROGRAM_MAX];
    uint16_t count;
};

static void add(struct program *program, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    ASSERT(program->count < PROGRAM_MAX);
    program->code[program->count++] =
        (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = k};
}

static void give_back(struct program *program, uint32_t action)
{
    add(program, BPF_RET | BPF_K, action, 0, 0);
}

static void fail_with(struct program *program, int number)
{
    give_back(program, SECCOMP_RET_ERRNO | ((uint32_t)number & SECCOMP_RET_DATA));
}

static void load(struct program *program, size_t offset)
{
    add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The lower half of an argument: the kernel itself looks at no more of those that are asked for. */
static void load_argument(struct program *program, uint32_t index)
{
    load(program, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static void skip_unless_equal(struct program *program, uint32_t value, uint8_t skipped)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped);
}

/* Each rule begins and ends with the number of the call, or has returned. */
static void allow(struct program *program, uint32_t call)
{
    skip_unless_equal(program, call, 1);
    give_back(program, SECCOMP_RET_ALLOW);
}

static void refuse(struct program *program, uint32_t call, int number)
{
    skip_unless_equal(program, call, 1);
    fail_with(program, number);
}

/* Allowed if argument @index is @value. */
static void allow_equal(
    struct program *program, uint32_t call, uint32_t index, uint32_t value, int otherwise)
{
    skip_unless_equal(program, call, 4);
    load_argument(program, index);
    skip_unless_equal(program, value, 1);
    give_back(program, SECCOMP_RET_ALLOW);
    fail_with(program, otherwise);
}

/* Allowed if of the bits @mask argument @index has exactly @bits. */
static void allow_bits(
    struct program *program, uint32_t call, uint32_t index, uint32_t mask, uint32_t bits)
{
    skip_unless_equal(program, call, 5);
    load_argument(program, index);
    add(program, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    skip_unless_equal(program, bits, 1);
    give_back(program, SECCOMP_RET_ALLOW);
    fail_with(program, EPERM);
}

/* Shared memory without a file is in no limit of the process. */
static void add_mmap(struct program *program)
{
    enum { MASK = MAP_SHARED | MAP_ANONYMOUS };
    skip_unless_equal(program, __NR_mmap, 5);
    load_argument(program, 3);
    add(program, BPF_ALU | BPF_AND | BPF_K, MASK, 0, 0);
    skip_unless_equal(program, MASK, 1);
    fail_with(program, EPERM);
    give_back(program, SECCOMP_RET_ALLOW);
}

/* Its own limits may be read: no process (0 is itself), and no new limit. */
static void add_prlimit(struct program *program)
{
    const uint32_t third = (uint32_t)offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t);
    skip_unless_equal(program, __NR_prlimit64, 8);
    load_argument(program, 0);
    skip_unless_equal(program, 0, 5);
    load(program, third);
    skip_unless_equal(program, 0, 3);
    load(program, third + sizeof(uint32_t));
    skip_unless_equal(program, 0, 1);
    give_back(program, SECCOMP_RET_ALLOW);
    fail_with(program, EPERM);
}

static void add_fcntl(struct program *program)
{
    enum { COUNT = ARRAY_COUNT(fcntl_allowed) };
    skip_unless_equal(program, __NR_fcntl, 2 + 2 * COUNT);
    load_argument(program, 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        allow(program, fcntl_allowed[i]);
    }
    fail_with(program, EPERM);
}

static void add_rules(struct program *program, uint32_t process)
{
    /* O_TMPFILE and O_CREAT need one of the first two, but O_CREAT alone makes an empty file. */
    const uint32_t writes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | 020000000 /* O_TMPFILE */;
    const uint32_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                            CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE |
                            CLONE_PARENT;
    for (size_t i = 0; i < ARRAY_COUNT(allowed); i++) {
        allow(program, allowed[i]);
    }
#ifdef __x86_64__
    allow_bits(program, __NR_open, 1, writes, O_RDONLY);
#endif
    allow_bits(program, __NR_openat, 2, writes, O_RDONLY);
    allow_bits(program, __NR_clone, 0, spaces | CLONE_THREAD, CLONE_THREAD);
    allow_equal(program, __NR_kill, 0, process, EPERM);
    allow_equal(program, __NR_tgkill, 0, process, EPERM);
    allow_equal(program, __NR_sched_setaffinity, 0, 0, EPERM);
    allow_equal(program, __NR_prctl, 0, PR_SET_NAME, EPERM);
    allow_equal(program, __NR_ioctl, 1, TCGETS, ENOTTY); /* isatty() */
    add_mmap(program);
    add_prlimit(program);
    add_fcntl(program);
    refuse(program, __NR_fsync, EINVAL); /* As for what is not a file. */
    add(program, BPF_JMP | BPF_JGE | BPF_K, NEW_CALLS, 0, 1);
    fail_with(program, ENOSYS);
    fail_with(program, EPERM);
}

bool function_filter_enter(void)
{
    struct program program = {.count = 0};
    load(&program, offsetof(struct seccomp_data, arch));
    skip_unless_equal(&program, FILTER_ARCHITECTURE, 1);
    add(&program, BPF_JMP | BPF_JA, 1, 0, 0);
    give_back(&program, SECCOMP_RET_KILL_PROCESS);
    load(&program, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    add(&program, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* The numbers of x32. */
    give_back(&program, SECCOMP_RET_KILL_PROCESS);
#endif
    add_rules(&program, (uint32_t)getpid());
    const struct sock_fprog filter = {.len = program.count, .filter = program.code};
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

#else

bool function_filter_enter(void)
{
    errno = ENOSYS;
    return false;
}

#endif
