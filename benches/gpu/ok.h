// A call of the CUDA runtime that has to succeed, for the compiled programs.
#ifndef OK_H
#define OK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(call)                                                                                                      \
    do {                                                                                                              \
        cudaError_t seen_ = (call);                                                                                   \
        if (seen_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(seen_));                 \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#endif
