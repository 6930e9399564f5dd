#include "runtime/loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <pthread.h>
#include <cmocka.h>

#include "base/attributes.h"

#define MS INT64_C(1000000)

static struct loop *created(void)
{
    struct loop *loop;
    assert_int_equal(loop_create(&loop, NULL), WEFT_OK);
    return loop;
}

/* Wait until @until_ns has come: interrupts of the system may end a wait early. */
static void wait_until(struct loop *loop, struct clock *clock, int64_t until_ns)
{
    while (clock_read(clock) < until_ns) {
        loop_wait(loop, clock, until_ns);
    }
}

static void an_alarm_rings_after_its_time_and_not_a_millisecond_early(ATTR_UNUSED void **state)
{
    struct loop *loop = created();
    struct clock clock;
    clock_init(&clock, CLOCK_KIND_REAL);
    for (int64_t i = 1; i <= 20; i++) {
        const int64_t until_ns = i * 300000; /* Finer than the timers of libuv. */
        wait_until(loop, &clock, until_ns);
        assert_true(clock.now_ns >= until_ns);
    }
    assert_true(clock.now_ns < 60000 * MS); /* An alarm that is lost never rings. */
    loop_destroy(loop);
}

static void a_time_that_has_passed_is_not_waited_for(ATTR_UNUSED void **state)
{
    struct loop *loop = created();
    struct clock clock;
    clock_init(&clock, CLOCK_KIND_REAL);
    (void)clock_read(&clock);
    loop_wait(loop, &clock, 0); /* Would hang without the alarm. */
    loop_destroy(loop);
}

static void *interrupt_soon(void *loop)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    (void)nanosleep(&pause, NULL);
    loop_interrupt(loop);
    return NULL;
}

static void another_thread_ends_the_wait(ATTR_UNUSED void **state)
{
    struct loop *loop = created();
    struct clock clock;
    pthread_t thread;
    clock_init(&clock, CLOCK_KIND_REAL);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, loop), 0);
    loop_wait(loop, &clock, INT64_MAX);
    assert_int_equal(pthread_join(thread, NULL), 0);
    loop_destroy(loop);
}

struct job {
    atomic_bool worked;
    bool done;
    pthread_t worker;
};

static void work(void *argument)
{
    struct job *job = argument;
    job->worker = pthread_self();
    atomic_store(&job->worked, true);
}

static void finish(void *argument)
{
    struct job *job = argument;
    assert_true(atomic_load(&job->worked));
    job->done = true;
}

static void work_is_done_elsewhere_and_ends_here(ATTR_UNUSED void **state)
{
    struct loop *loop = created();
    struct job jobs[8] = {0};
    for (uint32_t i = 0; i < 8; i++) {
        loop_work(loop, work, finish, &jobs[i]);
    }
    assert_int_equal(loop_work_count(loop), 8);
    while (loop_work_count(loop) > 0) {
        loop_wait_work(loop);
    }
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(jobs[i].done);
        assert_false(pthread_equal(jobs[i].worker, pthread_self()));
    }
    loop_destroy(loop);
}

static void destruction_waits_for_work(ATTR_UNUSED void **state)
{
    struct loop *loop = created();
    struct job job = {0};
    loop_work(loop, work, finish, &job);
    loop_destroy(loop);
    assert_true(job.done);
    loop_destroy(NULL);
}

static void note_signal(void *context, int number)
{
    *(int *)context = number;
}

static void signals_are_told_instead_of_died_of(ATTR_UNUSED void **state)
{
    struct loop *loop = created();
    struct clock clock;
    int number = 0;
    assert_true(signal(SIGHUP, SIG_DFL) != SIG_ERR); /* What is ignored, as by nohup, stays so. */
    clock_init(&clock, CLOCK_KIND_REAL);
    loop_on_signal(loop, note_signal, &number);
    assert_int_equal(kill(getpid(), SIGINT), 0);
    while (number == 0) {
        loop_wait(loop, &clock, INT64_MAX);
    }
    assert_int_equal(number, SIGINT);
    loop_destroy(loop);
    assert_int_equal(kill(getpid(), SIGTERM), 0); /* No loop is told, and the process lives. */
    assert_int_equal(number, SIGINT);

    loop = created();
    loop_on_signal(loop, note_signal, &number);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    while (number == SIGINT) {
        loop_wait(loop, &clock, INT64_MAX);
    }
    assert_int_equal(number, SIGTERM);
    assert_int_equal(kill(getpid(), SIGHUP), 0);
    while (number == SIGTERM) {
        loop_wait(loop, &clock, INT64_MAX);
    }
    assert_int_equal(number, SIGHUP);
    loop_destroy(loop);
    assert_int_equal(kill(getpid(), SIGHUP), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alarm_rings_after_its_time_and_not_a_millisecond_early),
        cmocka_unit_test(a_time_that_has_passed_is_not_waited_for),
        cmocka_unit_test(another_thread_ends_the_wait),
        cmocka_unit_test(work_is_done_elsewhere_and_ends_here),
        cmocka_unit_test(destruction_waits_for_work),
        cmocka_unit_test(signals_are_told_instead_of_died_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
