// The parts that probes of the host's memory share: threads that take pieces of one work in turn, and their rate.
#ifndef CREW_H
#define CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 3, THREADS_MAX = 16 };

// The first byte of the next piece.
static atomic_size_t next;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// The rate at which so many threads do all of the work, each with memory of its own.
static double crew_gbps(int threads, void *(*work)(void *), void *const *slots, size_t all_bytes)
{
    pthread_t started[THREADS_MAX];
    next = 0;
    double begin_s = now_s();
    for (int number = 0; number < threads; number++)
        check(!pthread_create(&started[number], NULL, work, slots[number]), "pthread_create");
    for (int number = 0; number < threads; number++)
        pthread_join(started[number], NULL);
    return (double)all_bytes / (now_s() - begin_s) / 1e9;
}

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static double median_gbps(int threads, double (*run_gbps)(int threads))
{
    double runs[RUNS];
    for (int run = 0; run < RUNS; run++)
        runs[run] = run_gbps(threads);
    qsort(runs, RUNS, sizeof *runs, compare);
    return runs[RUNS / 2];
}

#endif
