/* Which calls spoil a capture that is under way: those of the thread that captures and those of another one, in each
 * mode of the capture and of the thread, for a stream that the legacy one waits for and for one that it does not. No
 * two threads are in the driver at once: a call that spoils a capture while its own thread is inside may crash the
 * driver (seen on an H200, driver 580). */
#include <pthread.h>
#include <stdbool.h>

#include "device.h"

enum { BYTES = 1 << 16, PTX_BYTES = 1 << 16 };

/* What a call does to captures. */
typedef enum {
    SAFE,      /* nothing */
    UNSAFE,    /* refused where a capture forbids unsafe calls to the thread, and spoils that capture */
    WAITS,     /* refused while a stream of the context captures, and spoils all captures of the context */
    LEGACY,    /* uses the legacy stream: refused while a blocking stream captures, and spoils its capture */
    ASKS,      /* asks about the legacy stream: refused then, and spoils nothing */
    OF_STREAM, /* concerns the stream that captures: refused, and spoils the capture */
} Class;

typedef struct {
    CUcontext context;
    CUstream captured, other;
    CUdeviceptr device;
    unsigned char *pinned, *pageable, *unregistered;
    CUevent event, done;
    CUfunction add;
    /* These are there before each try, and a call may take them away. */
    CUdeviceptr spare;
    void *spare_host;
    unsigned char *registered;
    CUmodule module, loaded;
} Things;

static Things it;
static char ptx[PTX_BYTES];
static const uint32_t one = 1;

static CUresult query_result(CUresult code)
{
    return code == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : code;
}

static CUresult launch(CUstream stream)
{
    return cuLaunchKernel(it.add, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&it.device, (void *)&one}, NULL);
}

static CUresult wait_in(CUstream stream)
{
    CUresult code = cuEventRecord(it.event, it.other);
    return code != CUDA_SUCCESS ? code : cuStreamWaitEvent(stream, it.event, 0);
}

static CUresult allocate(void)
{
    CUdeviceptr pointer = 0;
    CUresult code = cuMemAlloc(&pointer, BYTES);
    return code != CUDA_SUCCESS ? code : cuMemFree(pointer);
}

static CUresult free_spare(void)
{
    CUresult code = cuMemFree(it.spare);
    it.spare = code == CUDA_SUCCESS ? 0 : it.spare;
    return code;
}

static CUresult allocate_host(void)
{
    void *pointer = NULL;
    CUresult code = cuMemHostAlloc(&pointer, BYTES, 0);
    return code != CUDA_SUCCESS ? code : cuMemFreeHost(pointer);
}

static CUresult free_spare_host(void)
{
    CUresult code = cuMemFreeHost(it.spare_host);
    it.spare_host = code == CUDA_SUCCESS ? NULL : it.spare_host;
    return code;
}

static CUresult register_host(void)
{
    CUresult code = cuMemHostRegister(it.unregistered, BYTES, 0);
    return code != CUDA_SUCCESS ? code : cuMemHostUnregister(it.unregistered);
}

static CUresult unregister_spare(void)
{
    CUresult code = cuMemHostUnregister(it.registered);
    if (code == CUDA_SUCCESS)
        free(it.registered), it.registered = NULL;
    return code;
}

static CUresult allocate_in_order(CUstream stream)
{
    CUdeviceptr pointer = 0;
    CUresult code = cuMemAllocAsync(&pointer, BYTES, stream);
    return code != CUDA_SUCCESS ? code : cuMemFreeAsync(pointer, stream);
}

static CUresult make_stream(void)
{
    CUstream stream = NULL;
    CUresult code = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    return code != CUDA_SUCCESS ? code : cuStreamDestroy(stream);
}

static CUresult make_event(void)
{
    CUevent event = NULL;
    CUresult code = cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    return code != CUDA_SUCCESS ? code : cuEventDestroy(event);
}

static CUresult unload_spare(void)
{
    CUresult code = cuModuleUnload(it.module);
    it.module = code == CUDA_SUCCESS ? NULL : it.module;
    return code;
}

static CUresult ask_flags(CUstream stream)
{
    unsigned int flags = 0;
    return cuStreamGetFlags(stream, &flags);
}

static CUresult ask_priority(CUstream stream)
{
    int priority = 0;
    return cuStreamGetPriority(stream, &priority);
}

static CUresult ask_context(CUstream stream)
{
    CUcontext context = NULL;
    return cuStreamGetCtx(stream, &context);
}

static CUresult ask_capture(CUstream stream)
{
    int status = 0;
    return cuStreamIsCapturing(stream, &status);
}

static CUresult ask_attribute(void)
{
    CUdeviceptr pointer = 0;
    return cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, it.device);
}

static CUresult ask_range(void)
{
    CUdeviceptr start = 0;
    size_t bytes = 0;
    return cuMemGetAddressRange(&start, &bytes, it.device);
}

#define CALLS                                                                                                         \
    CALL(SAFE, cuMemcpyHtoDAsync(it.device, it.pinned, BYTES, it.other))                                              \
    CALL(SAFE, cuMemcpyDtoHAsync(it.pageable, it.device, BYTES, it.other))                                            \
    CALL(SAFE, cuMemsetD8Async(it.device, 1, BYTES, it.other))                                                        \
    CALL(SAFE, cuMemsetD8Async(it.device, 1, BYTES, CU_STREAM_PER_THREAD))                                            \
    CALL(SAFE, cuStreamWriteValue32(it.other, it.device, 1, CU_STREAM_WRITE_VALUE_DEFAULT))                           \
    CALL(SAFE, cuEventRecord(it.event, it.other))                                                                     \
    CALL(SAFE, wait_in(CU_STREAM_PER_THREAD))                                                                         \
    CALL(SAFE, launch(it.other))                                                                                      \
    CALL(SAFE, cuCtxSetCurrent(it.context))                                                                           \
    CALL(SAFE, make_stream())                                                                                         \
    CALL(SAFE, make_event())                                                                                          \
    CALL(SAFE, ask_attribute())                                                                                       \
    CALL(SAFE, ask_range())                                                                                           \
    CALL(SAFE, ask_capture(it.other))                                                                                 \
    CALL(SAFE, ask_capture(it.captured))                                                                              \
    CALL(SAFE, ask_context(it.captured))                                                                              \
    CALL(SAFE, ask_priority(it.captured))                                                                             \
    CALL(SAFE, ask_flags(it.other))                                                                                   \
    CALL(OF_STREAM, ask_flags(it.captured))                                                                           \
    CALL(OF_STREAM, query_result(cuStreamQuery(it.captured)))                                                         \
    CALL(UNSAFE, allocate())                                                                                          \
    CALL(UNSAFE, free_spare())                                                                                        \
    CALL(UNSAFE, allocate_host())                                                                                     \
    CALL(UNSAFE, free_spare_host())                                                                                   \
    CALL(UNSAFE, register_host())                                                                                     \
    CALL(UNSAFE, unregister_spare())                                                                                  \
    CALL(UNSAFE, unload_spare())                                                                                      \
    CALL(SAFE, cuModuleLoadData(&it.loaded, ptx))                                                                     \
    CALL(UNSAFE, allocate_in_order(it.other))                                                                         \
    CALL(UNSAFE, query_result(cuEventQuery(it.done)))                                                                 \
    CALL(UNSAFE, cuEventSynchronize(it.done))                                                                         \
    CALL(UNSAFE, query_result(cuStreamQuery(it.other)))                                                               \
    CALL(UNSAFE, cuStreamSynchronize(it.other))                                                                       \
    CALL(WAITS, cuCtxSynchronize())                                                                                   \
    CALL(ASKS, ask_capture(CU_STREAM_LEGACY))                                                                         \
    CALL(LEGACY, cuMemcpyHtoD(it.device, it.pinned, BYTES))                                                           \
    CALL(LEGACY, cuMemcpyHtoDAsync(it.device, it.pinned, BYTES, CU_STREAM_LEGACY))                                    \
    CALL(LEGACY, cuMemsetD8Async(it.device, 1, BYTES, CU_STREAM_LEGACY))                                              \
    CALL(LEGACY, cuEventRecord(it.event, CU_STREAM_LEGACY))                                                           \
    CALL(LEGACY, wait_in(CU_STREAM_LEGACY))                                                                           \
    CALL(LEGACY, cuStreamWriteValue32(CU_STREAM_LEGACY, it.device, 1, CU_STREAM_WRITE_VALUE_DEFAULT))                 \
    CALL(LEGACY, launch(CU_STREAM_LEGACY))

static const struct {
    const char *name;
    Class class;
} calls[] = {
#define CALL(class, expression) {#expression, class},
    CALLS
#undef CALL
};

enum { COUNT = sizeof calls / sizeof *calls };

static CUresult call(int number)
{
    int at = 0;
#define CALL(class, expression)                                                                                       \
    if (number == at++)                                                                                               \
        return expression;
    CALLS
#undef CALL
    return CUDA_ERROR_UNKNOWN;
}

/* The capture, and the thread that makes the call meanwhile. */
typedef struct {
    int number, mode, thread_mode;
    bool is_blocking, is_elsewhere;
    CUresult code;
} Try;

static void *make_call(void *argument)
{
    Try *try = argument;
    int mode = try->thread_mode;
    OK(cuCtxSetCurrent(it.context));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    try->code = call(try->number);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    return NULL;
}

static bool is_forbidden(const Try *try)
{
    bool is_own = !try->is_elsewhere && try->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    switch (try->thread_mode) {
    case CU_STREAM_CAPTURE_MODE_GLOBAL:
        return is_own || try->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL:
        return is_own;
    default:
        return false;
    }
}

typedef struct {
    CUresult code;
    bool is_spoilt;
} Outcome;

static Outcome expected(const Try *try)
{
    static const Outcome fine = {CUDA_SUCCESS, false}, refused = {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, true};
    switch (calls[try->number].class) {
    case UNSAFE:
        return is_forbidden(try) ? refused : fine;
    case WAITS:
    case OF_STREAM:
        return refused;
    case LEGACY:
    case ASKS:
        if (try->is_blocking)
            return (Outcome){CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, calls[try->number].class == LEGACY};
        return fine;
    default:
        return fine;
    }
}

static void provide_spares(void)
{
    if (it.spare == 0)
        it.spare = new_device_bytes(BYTES);
    if (it.spare_host == NULL)
        it.spare_host = new_pinned_bytes(BYTES);
    if (it.registered == NULL) {
        REQUIRE((it.registered = aligned_alloc(4096, BYTES)) != NULL);
        OK(cuMemHostRegister(it.registered, BYTES, 0));
    }
    if (it.module == NULL)
        OK(cuModuleLoadData(&it.module, ptx));
    if (it.loaded != NULL)
        OK(cuModuleUnload(it.loaded));
    it.loaded = NULL;
}

/* Returns whether the call did what it should. */
static bool attempt(Try *try)
{
    static const char *modes[] = {"global", "thread-local", "relaxed"};
    CUgraph graph = NULL;
    int status = 99;
    provide_spares();
    OK(cuStreamCreate(&it.captured, try->is_blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(it.captured, try->mode));
    if (try->is_elsewhere) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, make_call, try) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    } else {
        make_call(try);
    }
    OK(cuStreamIsCapturing(it.captured, &status));
    CUresult ended = cuStreamEndCapture(it.captured, &graph);
    Outcome seen = {try->code, status == CU_STREAM_CAPTURE_STATUS_INVALIDATED}, wanted = expected(try);
    REQUIRE(ended == (seen.is_spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS));
    if (graph != NULL)
        OK(cuGraphDestroy(graph));
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy(it.captured));
    if (seen.code == wanted.code && seen.is_spoilt == wanted.is_spoilt)
        return true;
    fprintf(stderr, "%s in %s thread (%s), %s capture of a %s stream: %u%s, not %u%s\n", calls[try->number].name,
            try->is_elsewhere ? "another" : "the same", modes[try->thread_mode], modes[try->mode],
            try->is_blocking ? "blocking" : "non-blocking", seen.code, seen.is_spoilt ? " and spoilt" : "", wanted.code,
            wanted.is_spoilt ? " and spoilt" : "");
    return false;
}

static void make_things(void)
{
    CUmodule module = NULL;
    FILE *file = fopen(KERNELS_PTX, "rb");
    REQUIRE(file != NULL && fread(ptx, 1, sizeof ptx - 1, file) > 0);
    fclose(file);
    it.other = new_stream();
    it.device = new_device_bytes(BYTES);
    it.pinned = new_pinned_bytes(BYTES);
    it.pageable = new_bytes(BYTES, 1);
    REQUIRE((it.unregistered = aligned_alloc(4096, BYTES)) != NULL);
    OK(cuEventCreate(&it.event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&it.done, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(it.done, it.other));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&it.add, module, "soft_atomic_add_u32"));
    OK(launch(it.other)); /* a first launch may load the kernel */
    OK(cuCtxSynchronize());
}

int main(void)
{
    int surprises = 0;
    it.context = open_device();
    make_things();
    for (int number = 0; number < COUNT; number++)
        for (int variant = 0; variant < 3 * 3 * 2 * 2; variant++) {
            Try try = {.number = number, .mode = variant % 3, .thread_mode = variant / 3 % 3};
            try.is_blocking = variant / 9 % 2, try.is_elsewhere = variant / 18;
            surprises += !attempt(&try);
        }
    REQUIRE(surprises == 0);
    close_device();
    return 0;
}
