/* Steps of the programs with arrays. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "tasks.h"

typedef struct overtake_arrays Arrays;
typedef struct overtake_array Array;
typedef struct overtake_access Access;
typedef struct overtake_kernel Kernel;
typedef struct overtake_argument Argument;
typedef struct overtake_access_spec AccessSpec;
typedef struct overtake_computation_spec Computation;

static inline Argument use(Array *array, int mode)
{
    return (Argument){.array = array, .mode = mode};
}

static inline Argument value(const void *value, size_t bytes)
{
    return (Argument){.value = value, .value_bytes = bytes};
}

static inline Array *new_array(Arrays *arrays, size_t count, size_t element_bytes)
{
    Array *array = NULL;
    OK(overtake_array_new(arrays, count, element_bytes, &array));
    REQUIRE(array != NULL);
    return array;
}

/* Opens the whole array on the host. */
static inline void *open_array(Array *array, int mode, Access **access)
{
    void *memory = NULL;
    AccessSpec spec = {.struct_size = sizeof spec, .mode = mode};
    OK(overtake_array_open(array, &spec, &memory, access));
    REQUIRE(memory != NULL && *access != NULL);
    return memory;
}

static inline void fill(Array *array, size_t count, float first, float step)
{
    Access *access = NULL;
    float *elements = open_array(array, OVERTAKE_USE_DISCARD, &access);
    for (size_t i = 0; i < count; i++)
        elements[i] = first + step * (float)i;
    OK(overtake_access_close(access));
}

static inline float element(Array *array, size_t index)
{
    Access *access = NULL;
    float seen = ((float *)open_array(array, OVERTAKE_USE_READ, &access))[index];
    OK(overtake_access_close(access));
    return seen;
}

/* The kernels of the crate overtake-workloads, in PTX. */
static inline Kernel *load(Arrays *arrays, const char *name)
{
    static char text[65536];
    Kernel *kernel = NULL;
    FILE *file = fopen(KERNELS_PTX, "rb");
    REQUIRE(file != NULL);
    size_t bytes = fread(text, 1, sizeof text, file);
    REQUIRE(bytes > 0 && bytes < sizeof text && fclose(file) == 0);
    OK(overtake_kernel_load(arrays, text, bytes, name, &kernel));
    REQUIRE(kernel != NULL);
    return kernel;
}

#endif
