/* The CUDA driver, found with dlopen and dlsym as most programs find it: no CUDA toolkit is needed to build with it. */
#ifndef FOUND_H
#define FOUND_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cuda_mini.h"

static void *found(const char *name)
{
    static void *library;
    if (library == NULL)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    void *function = library == NULL ? NULL : dlsym(library, name);
    if (function == NULL) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return function;
}

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
/* The exported name: the header's macro makes it from the manual's name. */
#define FUNCTION(name) ((__typeof__(&name))found(TEXT(name)))

static inline void ok(CUresult status, const char *what)
{
    if (status != CUDA_SUCCESS) {
        fprintf(stderr, "%s returned %u\n", what, status);
        exit(1);
    }
}

static inline double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#endif
