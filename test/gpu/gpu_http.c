/*
 * gpu_http.c - requests with binary tensors for models on a GPU, over HTTP, timed and compared.
 *
 * usage: gpu_http ADDRESS:PORT SECONDS RATE THREADS SLO_US MODEL:FOLDER:ROWS:WEIGHT...
 *
 * FOLDER is the model's, with inputs of PyTorch in check/ROWS.x and its outputs in check/ROWS.y.
 * With RATE 0 each of THREADS sends its next request when the last is answered; otherwise requests
 * come at random times, RATE a second, each for a model drawn by its WEIGHT, and latency counts
 * from the time at which a request was due. Every answer is compared; exit code 1 if one is off.
 * The first line is what the same bytes take against a server that only reads them and answers; and
 * beyond $WAIT_US, if it waits for so long before. $SEED gives other times and models.
 */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cuda/manifest.h"
#include "engine/bundle.h"
#include "engine/half.h"
#include "engine/monotonic.h"

enum { MODELS_MAX_HERE = 64, THREADS_MAX = 512, DUE_MAX = 1 << 20, HEAD_BYTES = 4096 };

#define ERROR_MAX 0.01
/* Of requests at random times: so many seconds are not counted, or a fifth if that is less. */
#define WARMUP_S 1.0

struct kind {
    char name[64];
    uint32_t rows;
    double weight;
    uint8_t *request; /* Head and body. */
    size_t request_bytes;
    float *expected;
    uint64_t expected_count;
    enum weft_dtype dtype; /* Of the output. */
    double off;            /* The largest error so far. */
};

struct due {
    double at;
    uint32_t kind;
    double latency; /* Below 0: not answered well. */
    double answered;
};

static struct kind kinds[MODELS_MAX_HERE];
static uint32_t kind_count;
static struct due *dues;
static uint32_t due_count;
static atomic_uint next_due;
static atomic_uint failed_count;
static atomic_uint wrong_count;
static atomic_llong server_run_us; /* As the server splits its time: weft-timing. */
static atomic_llong server_other_us;
static struct sockaddr_in address;
static double start;
static double until; /* Of a closed loop. */
static double warmup;

static double now(void)
{
    return (double)monotonic_ns() * 1e-9;
}

static void die(const char *what, const char *which)
{
    (void)fprintf(stderr, "gpu_http: %s: %s\n", which, what);
    exit(2);
}

static uint8_t *read_all(const char *folder, uint32_t rows, const char *end, size_t *bytes_out)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/check/%u.%s", folder, rows, end);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        die("cannot be read", path);
    }
    *bytes_out = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*bytes_out + 1);
    if (data == NULL || fread(data, 1, *bytes_out, file) != *bytes_out) {
        die("cannot be read", path);
    }
    (void)fclose(file);
    return data;
}

/* The request for @kind: JSON, then the tensors as they lie in the file. */
static void make_request(
    struct kind *kind, const struct cuda_manifest *manifest, const char *folder)
{
    char json[HEAD_BYTES] = "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[";
    char head[HEAD_BYTES];
    size_t bytes;
    uint8_t *data = read_all(folder, kind->rows, "x", &bytes);
    for (uint32_t i = 0; i < manifest->input_count; i++) {
        const struct cuda_port *port = &manifest->inputs[i];
        size_t at = strlen(json);
        at += (size_t)snprintf(
            json + at, sizeof(json) - at, "%s{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[%u",
            i == 0 ? "" : ",", port->name, dtype_name(port->dtype), kind->rows);
        for (uint32_t k = 0; k < port->rank; k++) {
            at +=
                (size_t)snprintf(json + at, sizeof(json) - at, ",%lld", (long long)port->shape[k]);
        }
        (void)snprintf(
            json + at, sizeof(json) - at, "],\"parameters\":{\"binary_data_size\":%llu}}",
            (unsigned long long)(port->row_bytes * kind->rows));
    }
    (void)snprintf(json + strlen(json), sizeof(json) - strlen(json), "]}");
    const int head_bytes = snprintf(
        head, sizeof(head),
        "POST /v2/models/%s/infer HTTP/1.1\r\nHost: weft\r\nContent-Length: %zu\r\n"
        "Inference-Header-Content-Length: %zu\r\n\r\n%s",
        kind->name, strlen(json) + bytes, strlen(json), json);
    kind->request_bytes = (size_t)head_bytes + bytes;
    kind->request = malloc(kind->request_bytes);
    if (kind->request == NULL) {
        die("no memory", kind->name);
    }
    memcpy(kind->request, head, (size_t)head_bytes);
    memcpy(kind->request + head_bytes, data, bytes);
    free(data);
}

/* MODEL:FOLDER:ROWS:WEIGHT */
static void add_kind(char *text)
{
    struct kind *kind = &kinds[kind_count++];
    struct cuda_manifest manifest;
    struct weft_error error;
    char *rest = text;
    const char *name = strsep(&rest, ":");
    const char *folder = strsep(&rest, ":");
    const char *rows = strsep(&rest, ":");
    size_t bytes;
    if (rest == NULL || rows == NULL || kind_count == MODELS_MAX_HERE) {
        die("is not MODEL:FOLDER:ROWS:WEIGHT", text);
    }
    (void)snprintf(kind->name, sizeof(kind->name), "%s", name);
    kind->rows = (uint32_t)strtoul(rows, NULL, 10);
    kind->weight = strtod(rest, NULL);
    if (cuda_manifest_read(folder, &manifest, &error) != WEFT_OK) {
        die(error.message, folder);
    }
    make_request(kind, &manifest, folder);
    kind->expected = (float *)(void *)read_all(folder, kind->rows, "y", &bytes);
    kind->expected_count = bytes / sizeof(float);
    kind->dtype = manifest.outputs[0].dtype;
    cuda_manifest_free(&manifest);
}

/* How far @data is from what PyTorch makes of the same, by the norm. */
static double error_of(const struct kind *kind, const uint8_t *data)
{
    double off = 0;
    double norm = 0;
    for (uint64_t i = 0; i < kind->expected_count; i++) {
        double value;
        if (kind->dtype == WEFT_FP16) {
            uint16_t bits;
            memcpy(&bits, data + i * sizeof(bits), sizeof(bits));
            value = half_to_double(bits);
        } else {
            float bits;
            memcpy(&bits, data + i * sizeof(bits), sizeof(bits));
            value = (double)bits;
        }
        off += (value - (double)kind->expected[i]) * (value - (double)kind->expected[i]);
        norm += (double)kind->expected[i] * (double)kind->expected[i];
    }
    return sqrt(off / norm);
}

static int connect_once(void)
{
    const int one = 1;
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    if (file < 0 || connect(file, (struct sockaddr *)&address, sizeof(address)) != 0) {
        die("cannot connect", "server");
    }
    (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return file;
}

/* The number behind @name in the head at @text. */
static size_t header(const char *text, const char *name)
{
    const char *at = strcasestr(text, name);
    return at == NULL ? 0 : (size_t)strtoull(at + strlen(name), NULL, 10);
}

/* Receive one answer into @buffer: its status; *body_out is where its tensors begin. */
static int receive(int file, char *buffer, size_t room, const uint8_t **body_out)
{
    size_t have = 0;
    char *end = NULL;
    while (end == NULL) {
        const ssize_t bytes = recv(file, buffer + have, room - have - 1, 0);
        if (bytes <= 0) {
            return 0;
        }
        have += (size_t)bytes;
        buffer[have] = '\0';
        end = strstr(buffer, "\r\n\r\n");
    }
    const size_t head = (size_t)(end - buffer) + 4;
    const size_t length = header(buffer, "\r\ncontent-length:");
    const size_t json = header(buffer, "\r\ninference-header-content-length:");
    while (have < head + length) {
        const ssize_t bytes = recv(file, buffer + have, room - have, 0);
        if (bytes <= 0) {
            return 0;
        }
        have += (size_t)bytes;
    }
    atomic_fetch_add(&server_run_us, (long long)header(buffer, "run_us="));
    atomic_fetch_add(
        &server_other_us, (long long)(header(buffer, "queue_us=") + header(buffer, "other_us=")));
    *body_out = (const uint8_t *)buffer + head + json;
    return (int)strtol(buffer + strlen("HTTP/1.1 "), NULL, 10);
}

/* Whether it was answered well. */
static bool ask(int *file, struct kind *kind, char *buffer, size_t room, double *answered_out)
{
    const uint8_t *body = NULL;
    size_t sent = 0;
    while (sent < kind->request_bytes) {
        const ssize_t bytes =
            send(*file, kind->request + sent, kind->request_bytes - sent, MSG_NOSIGNAL);
        if (bytes <= 0) {
            break;
        }
        sent += (size_t)bytes;
    }
    const int status = receive(*file, buffer, room, &body);
    *answered_out = now();
    if (status != 200) {
        atomic_fetch_add(&failed_count, 1);
        if (status == 0) {
            (void)close(*file);
            *file = connect_once();
        } else if (atomic_load(&failed_count) < 4) {
            (void)fprintf(
                stderr, "gpu_http: %s: %d: %.200s\n", kind->name, status, (const char *)body);
        }
        return false;
    }
    const double off = error_of(kind, body);
    kind->off = off > kind->off ? off : kind->off; /* Other threads may do the same: it is shown. */
    if (!(off < ERROR_MAX)) {
        atomic_fetch_add(&wrong_count, 1);
    }
    return true;
}

static void wait_until(double at)
{
    const double left = at - now();
    if (left > 200e-6) {
        const double sleep = left - 100e-6;
        const struct timespec time = {
            .tv_sec = (time_t)sleep, .tv_nsec = (long)((sleep - floor(sleep)) * 1e9)};
        (void)nanosleep(&time, NULL);
    }
    while (now() < at) {
    }
}

static void *work(void *argument)
{
    const size_t room = 1 << 20;
    char *buffer = malloc(room);
    int file = connect_once();
    (void)argument;
    for (bool is_first = true;; is_first = false) {
        const unsigned at = atomic_fetch_add(&next_due, 1);
        if (at >= due_count || (until > 0 && now() >= until && !is_first)) {
            break;
        }
        struct due *due = &dues[at];
        if (until > 0) {
            due->at = now() - start;
        } else {
            wait_until(start + due->at);
        }
        double answered;
        const bool is_good = ask(&file, &kinds[due->kind], buffer, room, &answered);
        due->answered = answered - start;
        due->latency = is_good ? due->answered - due->at : -1;
    }
    (void)close(file);
    free(buffer);
    return NULL;
}

static uint64_t draw_state = 88172645463325252U;

static double draw(void)
{
    draw_state ^= draw_state << 13;
    draw_state ^= draw_state >> 7;
    draw_state ^= draw_state << 17;
    return (double)(draw_state >> 11) / 9007199254740992.0;
}

static uint32_t draw_kind(void)
{
    double sum = 0;
    for (uint32_t i = 0; i < kind_count; i++) {
        sum += kinds[i].weight;
    }
    double left = draw() * sum;
    for (uint32_t i = 0; i + 1 < kind_count; i++) {
        left -= kinds[i].weight;
        if (left < 0) {
            return i;
        }
    }
    return kind_count - 1;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The longest time in which nothing was answered well. */
static double longest_gap(double end)
{
    double *times = calloc(due_count + 2, sizeof(*times));
    double longest = 0;
    uint32_t count = 1;
    for (uint32_t i = 0; i < due_count; i++) {
        if (dues[i].latency > 0) {
            times[count++] = dues[i].answered;
        }
    }
    times[count++] = end;
    qsort(times, count, sizeof(*times), compare);
    for (uint32_t i = 1; i < count; i++) {
        longest = times[i] - times[i - 1] > longest ? times[i] - times[i - 1] : longest;
    }
    free(times);
    return longest;
}

struct echo {
    int listener;
    size_t bytes; /* Of a request. */
    double wait;  /* Seconds until it is answered. */
};

/* A server that reads so many bytes, and answers a few, at once or a while later. */
static void *be_echo(void *argument)
{
    const struct echo *echo = argument;
    static const char answer[2048] = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    char *buffer = malloc(1 << 20);
    const int one = 1;
    const int file = accept(echo->listener, NULL, NULL);
    (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (;;) {
        size_t have = 0;
        while (have < echo->bytes) {
            const ssize_t bytes = recv(file, buffer, 1 << 20, 0);
            if (bytes <= 0) {
                (void)close(file);
                free(buffer);
                return NULL;
            }
            have += (size_t)bytes;
        }
        for (const double begin = now(); now() - begin < echo->wait;) {
        }
        (void)send(file, answer, sizeof(answer), MSG_NOSIGNAL);
    }
}

/*
 * What the system takes for a request of @kind, whatever it is answered after @wait: a client that
 * has waited for long takes longer to wake up.
 */
static double floor_of(const struct kind *kind, double wait)
{
    enum { TIMES = 300 };
    double times[TIMES];
    char answer[2048];
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(here);
    struct echo echo = {
        .listener = socket(AF_INET, SOCK_STREAM, 0), .bytes = kind->request_bytes, .wait = wait};
    const struct sockaddr_in server = address;
    pthread_t thread;
    if (bind(echo.listener, (struct sockaddr *)&here, sizeof(here)) != 0 ||
        listen(echo.listener, 1) != 0 ||
        getsockname(echo.listener, (struct sockaddr *)&here, &length) != 0 ||
        pthread_create(&thread, NULL, be_echo, &echo) != 0) {
        die("no server to compare with", "system");
    }
    address = here;
    const int file = connect_once();
    address = server;
    for (uint32_t i = 0; i < TIMES; i++) {
        const double begin = now();
        for (size_t sent = 0; sent < kind->request_bytes;) {
            sent += (size_t)send(file, kind->request + sent, kind->request_bytes - sent, 0);
        }
        for (size_t have = 0; have < sizeof(answer);) {
            have += (size_t)recv(file, answer, sizeof(answer) - have, 0);
        }
        times[i] = now() - begin;
    }
    (void)close(file);
    (void)pthread_join(thread, NULL);
    (void)close(echo.listener);
    qsort(times, TIMES, sizeof(*times), compare);
    return times[TIMES / 2] - wait;
}

/* One line about requests of @kind; kind_count: of all. */
static void print(uint32_t kind, double seconds, double slo)
{
    double *latencies = calloc(due_count + 1, sizeof(*latencies));
    uint32_t count = 0;
    uint32_t asked = 0;
    uint32_t in_time = 0;
    double off = 0;
    double sum = 0;
    for (uint32_t i = 0; i < due_count; i++) {
        if ((kind < kind_count && dues[i].kind != kind) || dues[i].answered <= 0 ||
            (until <= 0 && dues[i].at < warmup)) {
            continue;
        }
        asked++;
        if (dues[i].latency > 0) {
            latencies[count++] = dues[i].latency;
            sum += dues[i].latency;
            in_time += dues[i].latency <= slo ? 1 : 0;
        }
    }
    for (uint32_t i = 0; i < kind_count; i++) {
        off = (kind == kind_count || kind == i) && kinds[i].off > off ? kinds[i].off : off;
    }
    qsort(latencies, count, sizeof(*latencies), compare);
    const uint32_t p99 = count * 99 / 100;
    (void)printf(
        "http %-8s %6u asked %6u good %5.1f %% in time  mean %8.0f p50 %8.0f p99 %8.0f most %8.0f "
        "us"
        "  goodput %7.1f/s  error %.4f\n",
        kind == kind_count ? "all" : kinds[kind].name, asked, count,
        asked == 0 ? 0 : 100.0 * in_time / asked, count == 0 ? 0 : sum / count * 1e6,
        count == 0 ? 0 : latencies[count / 2] * 1e6,
        count == 0 ? 0 : latencies[p99 < count ? p99 : count - 1] * 1e6,
        count == 0 ? 0 : latencies[count - 1] * 1e6, in_time / seconds, off);
    free(latencies);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    if (argc < 7) {
        die("ADDRESS:PORT SECONDS RATE THREADS SLO_US MODEL:FOLDER:ROWS:WEIGHT...", "usage");
    }
    char *port = strchr(argv[1], ':');
    const double seconds = strtod(argv[2], NULL);
    const double rate = strtod(argv[3], NULL);
    const uint32_t thread_count = (uint32_t)strtoul(argv[4], NULL, 10);
    const double slo = strtod(argv[5], NULL) / 1e6;
    if (port == NULL || thread_count == 0 || thread_count > THREADS_MAX) {
        die("bad arguments", "usage");
    }
    *port++ = '\0';
    address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    (void)inet_pton(AF_INET, argv[1], &address.sin_addr);
    for (int i = 6; i < argc; i++) {
        add_kind(argv[i]);
    }
    const char *wait = getenv("WAIT_US");
    const char *seed = getenv("SEED");
    draw_state ^= seed == NULL ? 0 : strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15U;
    (void)printf("http floor %.0f us", floor_of(&kinds[0], /* wait */ 0) * 1e6);
    if (wait != NULL) {
        (void)printf(", %.0f after %s", floor_of(&kinds[0], strtod(wait, NULL) / 1e6) * 1e6, wait);
    }
    (void)printf("\n");
    dues = calloc(DUE_MAX, sizeof(*dues));
    double at = 0;
    for (due_count = 0; due_count < DUE_MAX && at < seconds; due_count++) {
        dues[due_count] = (struct due){.at = at, .kind = draw_kind(), .latency = -1};
        at += rate > 0 ? -log(1 - draw()) / rate : 0;
    }
    warmup = seconds / 5 < WARMUP_S ? seconds / 5 : WARMUP_S;
    start = now();
    until = rate > 0 ? 0 : start + seconds;
    for (uint32_t i = 0; i < thread_count; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) {
            die("no thread", "system");
        }
    }
    for (uint32_t i = 0; i < thread_count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    const double took = now() - start;
    const double counted = until > 0 ? took : took - warmup;
    for (uint32_t i = 0; i < kind_count && kind_count > 1 && kind_count <= 8; i++) {
        print(i, counted, slo);
    }
    print(kind_count, counted, slo);
    (void)printf(
        "http failed %u, wrong %u, longest without an answer %.0f ms; the server says: run %.0f "
        "us, "
        "rest %.0f us\n",
        atomic_load(&failed_count), atomic_load(&wrong_count), longest_gap(took) * 1e3,
        (double)atomic_load(&server_run_us) / atomic_load(&next_due),
        (double)atomic_load(&server_other_us) / atomic_load(&next_due));
    return atomic_load(&wrong_count) > 0 ? 1 : 0;
}
