/* Threads of a library inherit nothing from the thread of the program that starts them. Here that one is bound to one
 * processor, and runs before all ordinary threads where the system allows it, when the first context is made and when
 * the first large copies of pageable memory are. The program waits for a signal that it blocks in its own threads. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "client.h"

enum { BYTES = 24 * MIB };

static cpu_set_t all;

/* The threads of a library that have open signals, fewer processors than the process, or a real-time policy. */
static int unlike(void)
{
    int wrong = 0;
    DIR *threads = opendir("/proc/self/task");
    REQUIRE(threads != NULL);
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        char path[300], line[300], name[64] = "";
        unsigned long long blocked = 0, needed = 1ULL << (SIGTERM - 1) | 1ULL << (SIGUSR1 - 1) | 1ULL << (SIGALRM - 1);
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *status = fopen(path, "r");
        if (status == NULL)
            continue; /* it has ended */
        while (fgets(line, sizeof line, status) != NULL) {
            sscanf(line, "Name: %63s", name);
            sscanf(line, "SigBlk: %llx", &blocked);
        }
        fclose(status);
        if (strncmp(name, "overtake-", 9) != 0)
            continue;
        cpu_set_t its;
        pid_t thread = (pid_t)atoi(entry->d_name);
        CPU_ZERO(&its);
        if (sched_getaffinity(thread, sizeof its, &its) != 0)
            continue; /* as above */
        int is_bound = !CPU_EQUAL(&its, &all), is_ordinary = sched_getscheduler(thread) == SCHED_OTHER;
        if (is_bound || !is_ordinary || (blocked & needed) != needed) {
            printf("%s: bound %d, ordinary %d, signals blocked %llx\n", name, is_bound, is_ordinary, blocked);
            wrong++;
        }
    }
    closedir(threads);
    return wrong;
}

static void *work(void *argument)
{
    (void)argument;
    cpu_set_t first;
    CPU_ZERO(&first);
    for (int processor = 0; processor < CPU_SETSIZE && CPU_COUNT(&first) == 0; processor++)
        if (CPU_ISSET(processor, &all))
            CPU_SET(processor, &first);
    REQUIRE(pthread_setaffinity_np(pthread_self(), sizeof first, &first) == 0);
    struct sched_param parameters = {.sched_priority = 1};
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters); /* an ordinary user may not */
    CUcontext context = NULL;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    CUdeviceptr device = new_device_bytes(BYTES);
    unsigned char *in = malloc(BYTES), *out = malloc(BYTES);
    REQUIRE(in != NULL && out != NULL);
    for (unsigned int i = 0; i < 6; i++) {
        paint(in, BYTES, i);
        memset(out, 0, BYTES);
        OK(cuMemcpyHtoD(device, in, BYTES));
        OK(cuMemcpyDtoH(out, device, BYTES));
        printf("%d", memcmp(in, out, BYTES));
        nap_us(20000);
    }
    printf("\nthreads that are bound, hear signals or run first: %d\n", unlike());
    free(in);
    free(out);
    OK(cuMemFree(device));
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int got = 0;
    sigset_t set;
    setenv("OVERTAKE_STAGING_THREADS", "3", 0); /* staging needs four processors otherwise */
    CPU_ZERO(&all);
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    OK(cuInit(0));
    REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    REQUIRE(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    REQUIRE(kill(getpid(), SIGTERM) == 0);
    REQUIRE(sigwait(&set, &got) == 0);
    printf("the signal came: %d\n", got == SIGTERM);
    return 0;
}
