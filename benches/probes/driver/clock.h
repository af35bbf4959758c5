/* Time as the probes take it, and pauses that keep the processor. */
#ifndef CLOCK_H
#define CLOCK_H

#include <time.h>

static inline double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static inline void pause_us(double span_us)
{
    double end_us = now_us() + span_us;
    while (now_us() < end_us)
        ;
}

#endif
