/* A check that names its call, for the probes in C. */
#ifndef OK_H
#define OK_H

#include <cuda.h>
#include <stdio.h>
#include <unistd.h>

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        CUresult code_ = (call);                                                                                       \
        if (code_ != CUDA_SUCCESS) {                                                                                   \
            printf("%s: %d\n", #call, code_);                                                                          \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#endif
