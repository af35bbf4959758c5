/* Modules and kernels: the built-in ones run, and all others are refused by name. */
#include "device.h"

#ifdef SOFTWARE_GPU
/* A kernel is a function of the model here, so a name that is not registered cannot run. */
enum { UNKNOWN_KERNEL = CUDA_ERROR_INVALID_IMAGE };
static const char unknown[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry unregistered_kernel() { ret; }\n";
#endif

/* The kernels that the software GPU knows by name and a real driver compiles; KERNELS_PTX is the path of their text. */
static char *known;

static void read_kernels(void)
{
    FILE *file = fopen(KERNELS_PTX, "rb");
    REQUIRE(file != NULL);
    known = calloc(1, 65536);
    REQUIRE(known != NULL && fread(known, 1, 65535, file) > 0);
    REQUIRE(fclose(file) == 0);
}

static CUfunction function_of(CUmodule module, const char *name)
{
    CUfunction function = NULL;
    OK(cuModuleGetFunction(&function, module, name));
    REQUIRE(function != NULL);
    return function;
}

static void launch(CUfunction function, CUstream stream, void **parameters)
{
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static void built_in_kernels_run(CUmodule module, CUstream stream)
{
    uint32_t *word = new_pinned_bytes(4);
    CUdeviceptr address = device_side(word);
    uint64_t nanoseconds = 2000000;
    uint32_t value = 40;
    int32_t difference = -3;
    float milliseconds = 0;
    CUevent start = NULL, end = NULL;
    OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    launch(function_of(module, "soft_noop"), stream, NULL);
    launch(function_of(module, "soft_store_u32"), stream, (void *[]){&address, &value});
    launch(function_of(module, "soft_atomic_add_u32"), stream, (void *[]){&address, &difference});
    value = 99; /* parameters are read by the call */
    OK(cuEventRecord(start, stream));
    launch(function_of(module, "soft_spin_ns"), stream, (void *[]){&nanoseconds});
    OK(cuEventRecord(end, stream));
    OK(cuStreamSynchronize(stream));
    REQUIRE(load_word(word) == 37);
    OK(cuEventElapsedTime(&milliseconds, start, end));
    REQUIRE(milliseconds >= 1.99f);
    OK(cuEventDestroy(start));
    OK(cuEventDestroy(end));
    OK(cuMemFreeHost(word));
}

static void unknown_names_are_refused(CUmodule module)
{
    CUfunction function = (CUfunction)UNTOUCHED;
    CUmodule other = (CUmodule)UNTOUCHED;
    EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "unregistered_kernel"));
    REQUIRE_UNTOUCHED(function == (CUfunction)UNTOUCHED);
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&function, module, NULL));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(NULL, module, "soft_noop"));
    EXPECT(UNKNOWN_KERNEL, cuModuleLoadData(&other, unknown));
    EXPECT(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&other, "\177ELF"));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&other, NULL));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(NULL, known));
#endif
    REQUIRE(other == (CUmodule)UNTOUCHED);
}

#ifdef SOFTWARE_GPU
/* CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES. */
static int names[] = {5, 6};

/* A program that asks for the compiler's log finds the cause there, as far as there is room. */
static void the_log_tells_why(void)
{
    char log[400];
    CUmodule other = NULL;
    for (size_t room = sizeof log; room > 0; room = room == 8 ? 0 : 8) {
        void *values[] = {log, (void *)room};
        memset(log, '?', sizeof log);
        EXPECT(UNKNOWN_KERNEL, cuModuleLoadDataEx(&other, unknown, 2, names, values));
        REQUIRE((size_t)values[1] == strlen(log) && strlen(log) < room);
        REQUIRE(strncmp(log, "no kernel unregistered_kernel", strlen(log) < 29 ? strlen(log) : 29) == 0);
        REQUIRE((strstr(log, "compiles nothing") != NULL) == (room == sizeof log));
        REQUIRE(room == sizeof log || log[room] == '?');
    }
    void *empty[] = {NULL, NULL};
    EXPECT(UNKNOWN_KERNEL, cuModuleLoadDataEx(&other, unknown, 2, names, empty));
    EXPECT(UNKNOWN_KERNEL, cuModuleLoadDataEx(&other, unknown, 1, names, empty));
    void *values[] = {log, (void *)sizeof log};
    OK(cuModuleLoadDataEx(&other, known, 2, names, values));
    REQUIRE(values[1] == NULL);
    OK(cuModuleUnload(other));
}
#endif

static void refused_launches(CUmodule module, CUstream stream)
{
    CUfunction noop = function_of(module, "soft_noop");
    CUfunction spin = function_of(module, "soft_spin_ns");
    void *none[] = {NULL};
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(noop, 0, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(noop, 1, 1, 1, 2048, 1, 1, 0, stream, NULL, NULL));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, stream, NULL, none));
#ifdef SOFTWARE_GPU
    void *extra[] = {(void *)(uintptr_t)1, none, NULL};
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
#endif
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

int main(void)
{
    CUmodule module = NULL, again = NULL;
    read_kernels();
    open_device();
    CUstream stream = new_stream();
    OK(cuModuleLoadData(&module, known));
    built_in_kernels_run(module, stream);
    unknown_names_are_refused(module);
    refused_launches(module, stream);
#ifdef SOFTWARE_GPU
    the_log_tells_why();
#endif
    OK(cuModuleLoadDataEx(&again, known, 0, NULL, NULL));
    OK(cuModuleUnload(again));
    OK(cuModuleUnload(module));
    OK(cuStreamDestroy(stream));
    close_device();
    free(known);
    return 0;
}
