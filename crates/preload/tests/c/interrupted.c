/* Signals arrive all the time, in every thread, while copies of both sizes are under way. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "client.h"

static atomic_int arrived;

static void handler(int signal)
{
    (void)signal;
    atomic_fetch_add(&arrived, 1);
}

static CUcontext context;

static void *work(void *argument)
{
    OK(cuCtxSetCurrent(context));
    Traffic traffic = new_traffic();
    *(uint64_t *)argument = run_traffic(&traffic, 30);
    free_traffic(&traffic);
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    uint64_t sums[3] = {0};
    struct sigaction action = {.sa_handler = handler}; /* no SA_RESTART: calls are interrupted */
    struct itimerval often = {.it_interval = {.tv_usec = 700}, .it_value = {.tv_usec = 700}};
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    context = open_device();
    REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, &sums[i]) == 0);
    for (int i = 0; i < 3; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        printf("%016llx\n", (unsigned long long)sums[i]);
    }
    struct itimerval never = {0};
    REQUIRE(setitimer(ITIMER_REAL, &never, NULL) == 0);
    printf("signals arrived: %d\n", atomic_load(&arrived) > 100);
    close_device();
    return 0;
}
