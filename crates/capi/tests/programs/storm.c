/* A storm: threads make random calls, legal and illegal ones, with handles that may have been freed, while another one
 * closes what they use. No call crashes, hangs or reports a bug, and all data is freed once.
 *
 * usage: storm [SEED [MILLISECONDS [loud]]] */
#include "arrays.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "storm.h"

static void *run_thread(void *data)
{
    Thread *thread = data;
    OK(cuCtxSetCurrent(the_context));
    thread->stream = new_stream();
    while (!atomic_load(&is_over))
        make_call(thread);
    atomic_fetch_sub(&threads_left, 1);
    return NULL;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Closes a dispatcher now and then, so no thread waits for ever, and opens others. */
static void close_beside(Thread *thread, int64_t milliseconds)
{
    int64_t end = now_ms() + milliseconds;
    while (now_ms() < end) {
        int at = (int)draw(thread, DISPATCHERS);
        void *old = atomic_exchange(&pools[DISPATCHER][at], NULL);
        if (old != NULL)
            note(thread, "overtake_dispatcher_close", overtake_dispatcher_close(old));
        open_dispatcher(thread, at);
        usleep(1000 * (1 + draw(thread, 15)));
    }
    atomic_store(&is_over, 1);
    while (atomic_load(&threads_left) > 0) {
        for (int at = 0; at < DISPATCHERS; at++) {
            void *old = atomic_exchange(&pools[DISPATCHER][at], NULL);
            if (old != NULL)
                note(thread, "overtake_dispatcher_close", overtake_dispatcher_close(old));
        }
        usleep(1000);
    }
}

/* All data that was given to the library has been freed once. */
static void judge(Thread *threads)
{
    int all = 0, wrong = 0, calls = 0, accepted = 0;
    for (int i = 0; i <= THREADS; i++)
        calls += threads[i].calls, accepted += threads[i].accepted;
    for (Datum *datum = atomic_load(&all_data); datum != NULL; datum = datum->next, all++)
        if (atomic_load(&datum->freed) != 1) {
            fprintf(stderr, "data of %s was freed %d times\n", datum->call, atomic_load(&datum->freed));
            wrong++;
        }
    if (is_loud)
        fprintf(stderr, "%d calls, %d accepted, %d data\n", calls, accepted, all);
    REQUIRE(wrong == 0 && accepted > 0 && all > 0);
}

/* Tasks fail all the time, which is a warning. */
static void hear_errors(void *data, int level, const char *text)
{
    (void)data;
    if (level == OVERTAKE_LOG_ERROR)
        fprintf(stderr, "%s\n", text);
}

int main(int count, char **arguments)
{
    static Thread threads[THREADS + 1];
    uint64_t seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    int64_t milliseconds = count > 2 ? strtoll(arguments[2], NULL, 10) : 2000;
    is_loud = count > 3;
    alarm((unsigned)(milliseconds / 1000 + 100)); /* a hang ends the program */
    OK(overtake_set_log_callback(hear_errors, NULL));
    open_device();
    OK(cuCtxGetCurrent(&the_context));
    the_pinned = pinned_bytes(MEMORY, 1), the_device = on_device(MEMORY);
    read_kernels();
    for (int i = 0; i <= THREADS; i++)
        threads[i].random = (seed * 1000 + (uint64_t)i) * 2654435761u | 1;
    for (int at = 0; at < DISPATCHERS; at++)
        open_dispatcher(&threads[THREADS], at);
    atomic_store(&threads_left, THREADS);
    for (int i = 0; i < THREADS; i++)
        OK(pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]));
    close_beside(&threads[THREADS], milliseconds);
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(threads[i].thread, NULL));
    free_the_rest();
    judge(threads);
    OK(overtake_close());
    puts("ok");
    return 0;
}
