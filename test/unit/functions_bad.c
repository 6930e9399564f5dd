/* functions_bad.c - functions that try what they should not, for tests of where they run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <weft/function.h>

static enum weft_status give_text(const struct weft_call *call, const char *text)
{
    const int64_t one = 1;
    const uint32_t length = (uint32_t)strlen(text);
    uint8_t *out = weft_call_texts(call, "text", 1, &one, sizeof(length) + length);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    memcpy(out, &length, sizeof(length));
    memcpy(out + sizeof(length), text, length);
    return WEFT_OK;
}

static enum weft_status give_number(const struct weft_call *call, int64_t number)
{
    const int64_t one = 1;
    int64_t *out = weft_call_output(call, "number", WEFT_INT64, 1, &one);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    *out = number;
    return WEFT_OK;
}

static bool try_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool try_unix(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool try_fork(void)
{
    const pid_t process = fork();
    if (process == 0) {
        _exit(0);
    }
    return process > 0;
}

static bool try_vfork_clone3(void)
{
    return syscall(SYS_clone3, NULL, 0) >= 0 || errno != ENOSYS;
}

static bool try_exec(void)
{
    char *arguments[] = {NULL};
    (void)execve("/nowhere/program", arguments, arguments);
    return errno == ENOENT; /* The kernel has looked for it. */
}

static bool try_write_file(void)
{
    const int file = open("/tmp/weft-functions-bad", O_WRONLY | O_CREAT, 0600);
    if (file >= 0) {
        (void)unlink("/tmp/weft-functions-bad");
    }
    return file >= 0 || errno != EPERM; /* The filter is asked before the files are. */
}

static bool try_read_passwd(void)
{
    return open("/etc/passwd", O_RDONLY) >= 0;
}

static bool try_list_root(void)
{
    return open("/", O_RDONLY | O_DIRECTORY) >= 0;
}

static bool try_unlink(void)
{
    return unlink("/nowhere") == 0 || errno == ENOENT;
}

static bool try_kill_parent(void)
{
    return kill(getppid(), 0) == 0;
}

static bool try_kill_group(void)
{
    return kill(0, 0) == 0;
}

static bool try_signal_parent(void)
{
    return syscall(SYS_tgkill, getppid(), getppid(), 0) == 0;
}

static bool try_ptrace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool try_vm_read(void)
{
    return syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0) == 0;
}

static bool try_mount(void)
{
    return mount("none", "/nowhere", "tmpfs", 0, NULL) == 0 || errno == ENOENT;
}

static bool try_unshare(void)
{
    return unshare(CLONE_NEWUSER) == 0;
}

static bool try_bpf(void)
{
    return syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno == EFAULT || errno == EINVAL;
}

static bool try_keys(void)
{
    return syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 0) >= 0;
}

static bool try_io_uring(void)
{
    return syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno == EFAULT;
}

static bool try_memory_file(void)
{
    return memfd_create("x", 0) >= 0;
}

static bool try_shared_memory(void)
{
    return mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool try_limit(void)
{
    struct rlimit now;
    (void)getrlimit(RLIMIT_CORE, &now);
    return setrlimit(RLIMIT_CORE, &now) == 0;
}

static bool try_owner(void)
{
    return fcntl(3, F_SETOWN, getppid()) == 0;
}

static bool try_dumpable(void)
{
    return prctl(PR_SET_PDEATHSIG, 0) == 0;
}

static bool try_affinity(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 &&
           sched_setaffinity(getppid(), sizeof(set), &set) == 0;
}

static bool try_pass_descriptor(void)
{
    return syscall(SYS_sendmsg, 3, NULL, 0) >= 0 || errno == EFAULT;
}

enum { TRIES = 26, HARMLESS_TRIES = 7 };

/* What of the first @count is possible, as a text of names. */
static enum weft_status try_first(const struct weft_call *call, size_t count)
{
    static const struct {
        const char *name;
        bool (*is_possible)(void);
    } tries[TRIES] = {
        {"socket", try_socket},
        {"unix", try_unix},
        {"fork", try_fork},
        {"clone3", try_vfork_clone3},
        {"exec", try_exec},
        {"write", try_write_file},
        {"passwd", try_read_passwd},
        {"list", try_list_root},
        {"unlink", try_unlink},
        {"kill", try_kill_parent},
        {"group", try_kill_group},
        {"tgkill", try_signal_parent},
        {"ptrace", try_ptrace},
        {"vm", try_vm_read},
        {"mount", try_mount},
        {"unshare", try_unshare},
        {"bpf", try_bpf},
        {"keys", try_keys},
        {"io_uring", try_io_uring},
        {"memfd", try_memory_file},
        {"shared", try_shared_memory},
        {"limit", try_limit},
        {"owner", try_owner},
        {"death", try_dumpable},
        {"affinity", try_affinity},
        {"sendmsg", try_pass_descriptor},
    };
    char text[512] = "";
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (tries[i].is_possible()) {
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s ", tries[i].name);
        }
    }
    return give_text(call, text);
}

static enum weft_status try_all(const struct weft_call *call)
{
    return try_first(call, TRIES);
}

/* Those that do no harm where they are possible. */
static enum weft_status try_harmless(const struct weft_call *call)
{
    return try_first(call, HARMLESS_TRIES);
}

static void *add_one(void *number)
{
    (void)__sync_fetch_and_add((int *)number, 1);
    return NULL;
}

/* What functions of libraries do: threads, files beside them, time, the number of processors. */
static enum weft_status use_libraries(const struct weft_call *call)
{
    pthread_t threads[4];
    int number = 0;
    char path[600];
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, add_one, &number) != 0) {
            return weft_call_fail(call, "no thread");
        }
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)snprintf(path, sizeof(path), "%s/functions_bad.so", weft_call_folder(call));
    FILE *file = fopen(path, "rb");
    if (file == NULL || fgetc(file) != 0x7f) {
        return weft_call_fail(call, "no file beside it");
    }
    (void)fclose(file);
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || sysconf(_SC_NPROCESSORS_ONLN) < 1 ||
        localtime(&now.tv_sec) == NULL || raise(0) != 0) {
        return weft_call_fail(call, "no time, or no processors");
    }
    void *large = malloc(64 << 20);
    if (large == NULL) {
        return weft_call_fail(call, "no memory");
    }
    memset(large, 1, 64 << 20);
    free(large);
    return give_number(call, number);
}

/* MiB that can be had. */
static enum weft_status allocate(const struct weft_call *call)
{
    enum { MIB = 1 << 20, COUNT_MAX = 2048 };
    static void *parts[COUNT_MAX];
    int64_t count = 0;
    while (count < COUNT_MAX) {
        parts[count] = malloc(MIB);
        if (parts[count] == NULL) {
            break;
        }
        memset(parts[count++], 1, MIB);
    }
    for (int64_t i = 0; i < count; i++) {
        free(parts[i]);
    }
    return give_number(call, count);
}

/* Keeps 40 MiB of every call; gives its process. */
static enum weft_status leak(const struct weft_call *call)
{
    static void *last;
    void *memory = malloc(40 << 20);
    if (memory != NULL) {
        memset(memory, 1, 40 << 20);
        last = memory;
    }
    return last == NULL ? WEFT_NO_MEMORY : give_number(call, getpid());
}

static enum weft_status who(const struct weft_call *call)
{
    return give_number(call, getpid());
}

static enum weft_status user(const struct weft_call *call)
{
    return give_number(call, getuid());
}

/* The limits of its process that are not about memory, as numbers. */
static enum weft_status limits(const struct weft_call *call)
{
    static const __rlimit_resource_t resources[] = {
        RLIMIT_CORE, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC};
    char text[256] = "";
    size_t at = 0;
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        struct rlimit limit;
        (void)getrlimit(resources[i], &limit);
        at += (size_t)snprintf(
            text + at, sizeof(text) - at, "%llu ", (unsigned long long)limit.rlim_max);
    }
    return give_text(call, text);
}

/* Runs model "m" once. */
static enum weft_status run_one(const struct weft_call *call)
{
    const struct weft_tensor *outputs;
    uint32_t count;
    return weft_call_run(call, "m", NULL, 0, &outputs, &count);
}

/* The bits of its capabilities. */
static enum weft_status rights(const struct weft_call *call)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &head, data) != 0) {
        return weft_call_fail(call, "no capget()");
    }
    return give_number(
        call,
        (int64_t)(data[0].effective | data[1].effective | data[0].permitted | data[1].permitted));
}

static enum weft_status print(const struct weft_call *call)
{
    printf("to stdout \033[2J\n");
    (void)fprintf(stderr, "to stderr\n");
    for (int i = 0; i < 1000; i++) {
        printf("flood %d\n", i);
    }
    return give_number(call, 1);
}

/* The environment, and whether what is at `address` has been wiped. */
static enum weft_status environment(const struct weft_call *call)
{
    char text[2048] = "";
    size_t at = 0;
    const struct weft_tensor *address = weft_call_input(call, "address");
    const char *old;
    memcpy(&old, address->data, sizeof(old));
    for (char **variable = environ; *variable != NULL; variable++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%.100s\n", *variable);
    }
    (void)snprintf(text + at, sizeof(text) - at, "old=%s", old);
    return give_text(call, text);
}

static enum weft_status close_all(const struct weft_call *call)
{
    (void)close_range(0, ~0U, 0);
    return give_number(call, 1);
}

/* The head of a message as function/wire.h has it, which is no business of a function. */
struct head {
    uint32_t kind;
    int32_t status;
    uint32_t items;
    uint32_t tensor_count;
    uint64_t bytes_max;
    uint64_t file_at;
    uint32_t has_file;
    uint32_t unused;
    char text[240];
};

struct tensor {
    char name[WEFT_TENSOR_NAME_BYTES_MAX];
    uint32_t dtype;
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX];
    uint64_t bytes;
};

enum { OWN_SOCKET = 3 };

static void push(const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t sent = write(OWN_SOCKET, at, bytes);
        if (sent <= 0) {
            _exit(7);
        }
        at += sent;
        bytes -= (size_t)sent;
    }
}

/* Returns for itself, with @tensor and @data. */
static enum weft_status return_forged(const struct tensor *tensor, const void *data, size_t bytes)
{
    const struct head head = {.kind = 1, .items = 1, .tensor_count = 1};
    push(&head, sizeof(head));
    push(tensor, sizeof(*tensor));
    push(data, bytes);
    for (;;) {
        (void)pause();
    }
    return WEFT_OK;
}

static enum weft_status lie_texts(const struct weft_call *call)
{
    const struct tensor tensor = {
        .name = "text", .dtype = WEFT_BYTES, .rank = 1, .shape = {1}, .bytes = 8};
    (void)call;
    return return_forged(&tensor, "\xff\xff\xff\x7fxxxx", 8);
}

static enum weft_status lie_bytes(const struct weft_call *call)
{
    const struct tensor tensor = {
        .name = "x", .dtype = WEFT_UINT8, .rank = 1, .shape = {8}, .bytes = UINT64_MAX};
    (void)call;
    return return_forged(&tensor, "12345678", 8);
}

static enum weft_status lie_name(const struct weft_call *call)
{
    struct tensor tensor = {.dtype = WEFT_UINT8, .rank = 1, .shape = {8}, .bytes = 8};
    (void)call;
    memset(tensor.name, 'x', sizeof(tensor.name));
    return return_forged(&tensor, "12345678", 8);
}

static enum weft_status talk_nonsense(const struct weft_call *call)
{
    char noise[4096];
    (void)call;
    memset(noise, 0xa5, sizeof(noise));
    push(noise, sizeof(noise));
    for (;;) {
        (void)pause();
    }
    return WEFT_OK;
}

/* Asks for model "m" @times over, and listens to the answers only if @listens. */
static void ask_models(int times, bool listens)
{
    const struct head head = {.kind = 2, .text = "m"};
    struct head answer;
    for (int i = 0; i < times; i++) {
        push(&head, sizeof(head));
        for (size_t got = 0; listens && got < sizeof(answer);) {
            const ssize_t count = read(OWN_SOCKET, (char *)&answer + got, sizeof(answer) - got);
            if (count <= 0) {
                _exit(8);
            }
            got += (size_t)count;
        }
    }
}

static enum weft_status run_many(const struct weft_call *call)
{
    ask_models(5000, true);
    return give_number(call, 1);
}

static enum weft_status ask_and_not_listen(const struct weft_call *call)
{
    ask_models(100000, false);
    return give_number(call, 1);
}

static enum weft_status stop_itself(const struct weft_call *call)
{
    (void)raise(SIGSTOP);
    return give_number(call, 1);
}

/* Gives its input back, but for what it tries with the files of its process first. */
static enum weft_status forge_files(const struct weft_call *call)
{
    const struct weft_tensor *x = weft_call_input(call, "x");
    static const char junk[] = "forged";
    bool is_possible = false;
    for (int file = 3; file < 64; file++) {
        struct stat about;
        if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
            is_possible = is_possible || ftruncate(file, 0) == 0;
        }
    }
    is_possible = is_possible || pwrite(5, junk, sizeof(junk), 0) >= 0; /* Its inputs. */
    if (is_possible) {
        return weft_call_fail(call, "it is possible");
    }
    void *out = weft_call_output(call, "x", x->dtype, x->rank, x->shape);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    memcpy(out, x->data, x->bytes);
    return WEFT_OK;
}

/* What runs while it is loaded is held as well. */
static int constructor_socket;

__attribute__((constructor)) static void load(void)
{
    constructor_socket = socket(AF_INET, SOCK_STREAM, 0);
}

static enum weft_status loaded(const struct weft_call *call)
{
    return give_number(call, constructor_socket);
}

WEFT_FUNCTIONS(
    {"try", try_all}, {"try_harmless", try_harmless}, {"use_libraries", use_libraries},
    {"allocate", allocate}, {"leak", leak}, {"who", who}, {"rights", rights}, {"limits", limits},
    {"run_one", run_one}, {"user", user}, {"print", print}, {"environment", environment},
    {"close_all", close_all}, {"lie_texts", lie_texts}, {"lie_bytes", lie_bytes},
    {"lie_name", lie_name}, {"talk_nonsense", talk_nonsense}, {"run_many", run_many},
    {"ask_and_not_listen", ask_and_not_listen}, {"stop_itself", stop_itself},
    {"forge_files", forge_files}, {"loaded", loaded});
