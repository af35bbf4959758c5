/* Arrays and computations: kernels, functions for the device and of the host, accesses, memory of the program's, and
 * calls that are refused. */
#include "arrays.h"

#include <pthread.h>
#include <unistd.h>

enum { COUNT = 4096, BYTES = COUNT * sizeof(float) };

static const uint32_t count = COUNT;

/* sum[i] = left[i] + right[i] */
static Computation addition(Kernel *add, Argument *arguments, Array *left, Array *right, Array *sum)
{
    arguments[0] = use(left, OVERTAKE_USE_READ), arguments[1] = use(right, OVERTAKE_USE_READ);
    arguments[2] = use(sum, OVERTAKE_USE_DISCARD), arguments[3] = value(&count, sizeof count);
    return (Computation){.struct_size = sizeof(Computation), .name = "add", .arguments = arguments,
                         .arguments_count = 4, .kernel = add, .grid = {COUNT / 256}, .block = {256}};
}

static Task *compute(Arrays *arrays, Computation computation)
{
    Task *task = NULL;
    OK(overtake_compute(arrays, &computation, &task));
    REQUIRE(task != NULL);
    return task;
}

static Task *add_arrays(Arrays *arrays, Kernel *add, Array *left, Array *right, Array *sum)
{
    Argument arguments[4];
    return compute(arrays, addition(add, arguments, left, right, sum));
}

static struct overtake_arrays_statistics counts_of(Arrays *arrays)
{
    struct overtake_arrays_statistics counts = {.struct_size = sizeof counts};
    OK(overtake_arrays_read_statistics(arrays, &counts));
    return counts;
}

/* Each array goes to the device once, and only the result that is read comes back. */
static void a_chain_of_kernels(Arrays *arrays, Kernel *add)
{
    Array *left = new_array(arrays, COUNT, 4), *right = new_array(arrays, COUNT, 4);
    Array *sum = new_array(arrays, COUNT, 4), *twice = new_array(arrays, COUNT, 4);
    struct overtake_arrays_statistics before = counts_of(arrays);
    fill(left, COUNT, 0, 1), fill(right, COUNT, 0.5f, 0);
    Task *first = add_arrays(arrays, add, left, right, sum), *second = add_arrays(arrays, add, sum, sum, twice);
    REQUIRE(element(twice, 7) == 15);
    OK(overtake_task_wait(second));
    struct overtake_arrays_statistics after = counts_of(arrays);
    REQUIRE(after.uploads - before.uploads == 2 && after.upload_bytes - before.upload_bytes == 2 * BYTES);
    REQUIRE(after.downloads - before.downloads == 1 && after.between_devices == 0);
    OK(overtake_task_free(first));
    OK(overtake_task_free(second));
    Array *all[] = {left, right, sum, twice};
    for (int i = 0; i < 4; i++)
        OK(overtake_array_free(all[i]));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "is not an array here", overtake_array_free(sum));
}

static int set_bytes(Lane *lane, void *const *addresses, void *data)
{
    CUstream stream = NULL;
    int code = overtake_lane_stream(lane, &stream);
    if (code == 0)
        code = (int)cuMemsetD8Async((CUdeviceptr)addresses[0], *(unsigned char *)data, COUNT / 2, stream);
    return code;
}

static int add_up(void *const *addresses, void *data)
{
    const unsigned char *bytes = addresses[0];
    uint64_t *total = addresses[1];
    (void)data;
    *total = 0;
    for (size_t i = 0; i < COUNT; i++)
        *total += bytes[i];
    return 0;
}

/* A function for the device and one of the host, on parts and on a view. */
static void functions_and_parts(Arrays *arrays)
{
    unsigned char three = 3;
    int freed_before = atomic_load(&freed);
    Array *bytes = new_array(arrays, COUNT, 1), *total = new_array(arrays, 1, sizeof(uint64_t)), *view = NULL;
    Access *access = NULL;
    memset(open_array(bytes, OVERTAKE_USE_DISCARD, &access), 1, COUNT);
    OK(overtake_access_close(access));
    OK(overtake_array_view(bytes, COUNT / 2, 0, &view));
    Argument half = use(view, OVERTAKE_USE_DISCARD);
    Computation set = {.struct_size = sizeof set, .name = "set", .launch = set_bytes, .data = &three, .priority = 5};
    set.arguments = &half, set.arguments_count = 1, set.retries = 2, set.free_data = count_freed;
    OK(overtake_compute(arrays, &set, NULL));
    Argument both[] = {use(bytes, OVERTAKE_USE_READ), use(total, OVERTAKE_USE_DISCARD)};
    Computation sum = {.struct_size = sizeof sum, .name = "add up", .run = add_up, .free_data = count_freed};
    sum.arguments = both, sum.arguments_count = 2;
    OK(overtake_compute(arrays, &sum, NULL));
    REQUIRE(*(uint64_t *)open_array(total, OVERTAKE_USE_READ, &access) == COUNT / 2 + 3 * (COUNT / 2));
    OK(overtake_access_close(access));
    OK(overtake_arrays_wait(arrays));
    /* Elements of a part, on the host. */
    void *memory = NULL;
    AccessSpec part = {.struct_size = sizeof part, .first = COUNT / 2 - 1, .count = 2};
    OK(overtake_array_open(bytes, &part, &memory, &access));
    REQUIRE(((unsigned char *)memory)[0] == 1 && ((unsigned char *)memory)[1] == 3);
    OK(overtake_access_close(access));
    REFUSED(OVERTAKE_ERROR_REFUSED, "views or open accesses", overtake_array_release(bytes));
    OK(overtake_array_free(view));
    OK(overtake_array_release(bytes));
    OK(overtake_array_free(total));
    while (atomic_load(&freed) < freed_before + 2)
        ; /* a moment after the task has ended */
}

/* An open access keeps later computations back, and lets those go that only read beside it. */
static void accesses_keep_back(Arrays *arrays, Kernel *add)
{
    Array *source = new_array(arrays, COUNT, 4), *sum = new_array(arrays, COUNT, 4);
    Access *reads = NULL, *changes = NULL;
    fill(source, COUNT, 1, 0);
    REQUIRE(((float *)open_array(source, OVERTAKE_USE_READ, &reads))[3] == 1);
    Task *beside = add_arrays(arrays, add, source, source, sum);
    OK(overtake_task_wait(beside));
    OK(overtake_access_close(reads));
    float *elements = open_array(source, OVERTAKE_USE_READ_WRITE, &changes);
    elements[3] = 7;
    Task *waits = add_arrays(arrays, add, source, source, sum);
    REQUIRE(!is_done(waits));
    OK(overtake_access_close(changes));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "is not an access here", overtake_access_close(changes));
    REQUIRE(element(sum, 3) == 14 && element(sum, 4) == 2);
    OK(overtake_task_free(beside));
    OK(overtake_task_free(waits));
    OK(overtake_array_free(source));
    OK(overtake_array_free(sum));
}

/* An access that is not waited for until its elements are there leaves the array as it was. */
static void accesses_that_are_late(Arrays *arrays, Kernel *add)
{
    Array *x = new_array(arrays, COUNT, 4);
    Argument arguments[4];
    Task *behind = NULL;
    fill(x, COUNT, 1, 0);
    OK(overtake_task_free(add_arrays(arrays, add, x, x, x)));
    Computation spec = addition(add, arguments, x, x, x);
    spec.references = 1;
    Task *held = compute(arrays, spec);
    for (int mode = OVERTAKE_USE_READ; mode <= OVERTAKE_USE_DISCARD; mode++)
        for (uint32_t is_on_device = 0; is_on_device < 2; is_on_device++) {
            AccessSpec wanted = {.struct_size = sizeof wanted, .mode = mode, .is_on_device = is_on_device};
            Access *access = NULL;
            void *memory = x;
            OK(overtake_array_open(x, &wanted, NULL, &access));
            for (int64_t timeout_ns = 0; timeout_ns < 3000000; timeout_ns += 2000000) {
                OK(overtake_access_wait_for(access, timeout_ns, &memory));
                REQUIRE(memory == NULL);
            }
            REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "timeout_ns is -7",
                    overtake_access_wait_for(access, -7, &memory));
            REFUSED(OVERTAKE_ERROR_TIMEOUT, "not come within 7 ns", overtake_access_wait_for(access, 7, NULL));
            if (mode == OVERTAKE_USE_DISCARD) { /* its results are needed */
                Argument reads = use(x, OVERTAKE_USE_READ);
                Computation look = {.struct_size = sizeof look, .name = "look", .arguments = &reads};
                look.arguments_count = 1, look.launch = set_bytes;
                behind = compute(arrays, look);
            }
            OK(overtake_access_close(access));
            REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "access", overtake_access_wait_for(access, 0, &memory));
            if (behind != NULL) {
                REFUSED(OVERTAKE_ERROR_TASK_NOT_RUN, "was cancelled", overtake_task_wait(behind));
                OK(overtake_task_free(behind));
                behind = NULL;
            }
        }
    AccessSpec change = {.struct_size = sizeof change, .mode = OVERTAKE_USE_READ_WRITE};
    Access *access = NULL;
    void *memory = NULL;
    OK(overtake_array_open(x, &change, NULL, &access));
    OK(overtake_task_release(held));
    OK(overtake_access_wait_for(access, OVERTAKE_FOR_EVER, &memory));
    REQUIRE(memory != NULL && ((float *)memory)[9] == 4);
    ((float *)memory)[9] = 5;
    OK(overtake_access_close(access));
    REQUIRE(element(x, 9) == 5 && element(x, 8) == 4);
    OK(overtake_task_free(held));
    OK(overtake_array_free(x));
}

/* Memory of the program's is used where it lies: nothing is copied, and accesses on the device give its address. */
static void memory_of_the_program(Arrays *arrays, Kernel *add)
{
    float ones[COUNT];
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    void *memory = on_device(BYTES), *target = on_device(BYTES), *seen = NULL;
    CUstream stream = new_stream();
    OK(cuMemcpyHtoDAsync((CUdeviceptr)memory, ones, BYTES, stream));
    Array *adopted = NULL, *result = NULL;
    struct overtake_adopt_spec spec = {.struct_size = sizeof spec, .is_on_device = 1, .memory = memory, .count = COUNT,
                                       .element_bytes = 4, .stream = stream, .free_data = count_freed};
    int freed_before = atomic_load(&freed);
    struct overtake_arrays_statistics before = counts_of(arrays);
    OK(overtake_array_adopt(arrays, &spec, &adopted));
    spec.memory = target, spec.stream = NULL;
    OK(overtake_array_adopt(arrays, &spec, &result));
    OK(overtake_task_free(add_arrays(arrays, add, adopted, adopted, result)));
    Access *frozen = NULL;
    AccessSpec there = {.struct_size = sizeof there, .is_on_device = 1};
    OK(overtake_array_open(result, &there, &seen, &frozen));
    REQUIRE(seen == target);
    Argument arguments[4];
    Computation writes = addition(add, arguments, adopted, adopted, result);
    REFUSED(OVERTAKE_ERROR_REFUSED, "frozen for code outside", overtake_compute(arrays, &writes, NULL));
    REFUSED(OVERTAKE_ERROR_REFUSED, "open accesses", overtake_array_release(result));
    OK(overtake_access_close(frozen));
    there.mode = OVERTAKE_USE_READ_WRITE;
    OK(overtake_array_open(result, &there, &seen, &frozen));
    REQUIRE(seen == target);
    Task *waits = compute(arrays, writes);
    REQUIRE(!is_done(waits));
    OK(overtake_access_close(frozen));
    OK(overtake_task_wait(waits));
    struct overtake_arrays_statistics after = counts_of(arrays);
    REQUIRE(after.uploads == before.uploads && after.downloads == before.downloads);
    /* The elements that the host writes are on the device when the array is released. */
    fill(result, COUNT, 5, 1);
    OK(overtake_array_release(result));
    OK(overtake_task_free(waits));
    OK(cuMemcpyDtoH(ones, (CUdeviceptr)target, BYTES));
    REQUIRE(ones[0] == 5 && ones[9] == 14);
    OK(overtake_array_release(adopted));
    while (atomic_load(&freed) < freed_before + 2)
        ;
    OK(cuMemFree((CUdeviceptr)memory));
    OK(cuMemFree((CUdeviceptr)target));
    OK(cuStreamDestroy(stream));
}

/* Pinned memory of the program's has its results when the set is closed. */
static void a_set_that_is_closed(Dispatcher *dispatcher)
{
    Arrays *arrays = NULL;
    struct overtake_arrays_options options = {.struct_size = sizeof options};
    options.device_bytes_max = 8 << 20, options.selection = OVERTAKE_SELECTION_ROUND_ROBIN;
    OK(overtake_arrays_open(dispatcher, &options, &arrays));
    Kernel *add = load(arrays, "work_add");
    float *pinned = (float *)pinned_bytes(BYTES, 0);
    for (int i = 0; i < COUNT; i++)
        pinned[i] = 2;
    Array *adopted = NULL, *source = new_array(arrays, COUNT, 4);
    struct overtake_adopt_spec spec = {.struct_size = sizeof spec, .memory = pinned, .count = COUNT,
                                       .element_bytes = 4};
    OK(overtake_array_adopt(arrays, &spec, &adopted));
    OK(overtake_task_free(add_arrays(arrays, add, adopted, adopted, source)));
    AccessSpec bring = {.struct_size = sizeof bring, .priority = 3};
    Task *brought = NULL;
    OK(overtake_array_bring(source, &bring, &brought));
    OK(overtake_task_wait(brought));
    REQUIRE(element(source, 9) == 4);
    OK(overtake_task_free(add_arrays(arrays, add, source, source, adopted)));
    OK(overtake_arrays_close(arrays));
    REQUIRE(pinned[9] == 8);
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "set of arrays", overtake_arrays_close(arrays));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "kernel", overtake_kernel_free(add));
    Argument arguments[4];
    Computation late = addition(NULL, arguments, adopted, adopted, source);
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "closed; computation \"add\" needs a set of arrays that is open",
            overtake_compute(arrays, &late, NULL));
    OK(overtake_array_free(adopted));
    OK(overtake_task_free(brought));
    OK(cuMemFreeHost(pinned));
}

static void *wait_for_arrays(void *arrays)
{
    return (void *)(intptr_t)overtake_arrays_wait(arrays);
}

/* A set that is closed while another thread waits for it has its results in adopted memory all the same. */
static void closed_beside_a_wait(Dispatcher *dispatcher)
{
    Arrays *arrays = NULL;
    void *code = NULL;
    pthread_t thread;
    OK(overtake_arrays_open(dispatcher, NULL, &arrays));
    Kernel *add = load(arrays, "work_add");
    float *pinned = (float *)pinned_bytes(BYTES, 0);
    Array *adopted = NULL, *source = new_array(arrays, COUNT, 4), *never = new_array(arrays, COUNT, 4);
    struct overtake_adopt_spec spec = {.struct_size = sizeof spec, .memory = pinned, .count = COUNT,
                                       .element_bytes = 4};
    OK(overtake_array_adopt(arrays, &spec, &adopted));
    fill(source, COUNT, 4, 0);
    OK(overtake_task_free(add_arrays(arrays, add, source, source, adopted)));
    Argument arguments[4];
    Computation held = addition(add, arguments, source, source, never);
    held.references = 1;
    OK(overtake_task_free(compute(arrays, held)));
    OK(pthread_create(&thread, NULL, wait_for_arrays, arrays));
    usleep(50000);
    OK(overtake_arrays_close(arrays));
    REQUIRE(pinned[9] == 8);
    OK(pthread_join(thread, &code));
    REQUIRE((intptr_t)code == OVERTAKE_ERROR_TASK_FAILED || (intptr_t)code == OVERTAKE_ERROR_INVALID_HANDLE);
    OK(overtake_array_free(adopted));
    OK(cuMemFreeHost(pinned));
}

/* A set is closed by the thread with an open access that another thread waits behind: the close ends, and then the
 * wait. */
static void closed_beside_an_access(Dispatcher *dispatcher)
{
    Arrays *arrays = NULL;
    Access *access = NULL;
    void *memory = NULL, *code = NULL;
    AccessSpec all = {.struct_size = sizeof all, .mode = OVERTAKE_USE_READ_WRITE};
    pthread_t thread;
    OK(overtake_arrays_open(dispatcher, NULL, &arrays));
    Kernel *add = load(arrays, "work_add");
    Array *source = new_array(arrays, COUNT, 4), *sum = new_array(arrays, COUNT, 4);
    fill(source, COUNT, 4, 0);
    OK(overtake_array_open(source, &all, &memory, &access));
    OK(overtake_task_free(add_arrays(arrays, add, source, source, sum)));
    OK(pthread_create(&thread, NULL, wait_for_arrays, arrays));
    usleep(50000);
    (void)overtake_arrays_close(arrays);
    OK(overtake_access_close(access));
    OK(pthread_join(thread, &code));
}

static int fails(void *const *addresses, void *data);

/* Results that do not reach their memory are the error of the end, and those behind them do reach it. */
static void a_close_that_fails(Dispatcher *dispatcher)
{
    Arrays *arrays = NULL;
    OK(overtake_arrays_open(dispatcher, NULL, &arrays));
    Kernel *add = load(arrays, "work_add");
    float *pinned[3] = {NULL, NULL, NULL};
    Array *adopted[3], *source = new_array(arrays, COUNT, 4);
    for (int i = 0; i < 3; i++) {
        pinned[i] = (float *)pinned_bytes(BYTES, 0);
        struct overtake_adopt_spec spec = {.struct_size = sizeof spec, .memory = pinned[i], .count = COUNT,
                                           .element_bytes = 4};
        OK(overtake_array_adopt(arrays, &spec, &adopted[i]));
    }
    fill(source, COUNT, 4, 0);
    for (int i = 0; i < 3; i++)
        OK(overtake_task_free(add_arrays(arrays, add, source, source, adopted[i])));
    Argument lost = use(adopted[1], OVERTAKE_USE_DISCARD);
    Computation bad = {.struct_size = sizeof bad, .name = "parse", .arguments = &lost, .run = fails};
    bad.arguments_count = 1;
    OK(overtake_task_free(compute(arrays, bad)));
    REQUIRE(overtake_arrays_close(arrays) != OVERTAKE_OK);
    SAYS("the file is empty");
    REQUIRE(pinned[0][9] == 8 && pinned[2][9] == 8);
    REQUIRE(overtake_arrays_close(arrays) == OVERTAKE_ERROR_INVALID_HANDLE);
    for (int i = 0; i < 3; i++)
        OK(overtake_array_free(adopted[i]));
}

static void refused(Arrays *arrays, int code, const char *words, Computation computation)
{
    Task *task = NULL;
    computation.free_data = count_freed;
    int freed_before = atomic_load(&freed);
    REFUSED(code, words, overtake_compute(arrays, &computation, &task));
    REQUIRE(task == NULL && atomic_load(&freed) == freed_before + 1);
}

static int fails(void *const *addresses, void *data)
{
    (void)addresses, (void)data;
    overtake_set_last_error("the file is empty");
    return OVERTAKE_ERROR_TASK_FAILED;
}

static void wrong_computations(Arrays *arrays, Kernel *add)
{
    Array *a = new_array(arrays, COUNT, 4), *b = new_array(arrays, COUNT, 4);
    Argument arguments[4], one = use(b, OVERTAKE_USE_RELAXED), none = {.mode = OVERTAKE_USE_READ};
    uint64_t wide = 0;
    Computation good = addition(add, arguments, a, a, b), bad = good;
    refused(arrays, OVERTAKE_ERROR_REFUSED, "no task has written", good);
    fill(a, COUNT, 1, 0);
    bad.arguments_count = 3;
    Task *task = compute(arrays, bad);
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "it takes 4 arguments, and 3 are given", overtake_task_wait(task));
    arguments[3] = value(&wide, sizeof wide);
    task = compute(arrays, good);
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "argument 4 has 4 bytes, and 8 are given", overtake_task_wait(task));
    arguments[3] = value(&count, sizeof count);
    bad = good, bad.kernel = NULL;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "a function has values in its data", bad);
    arguments[0].value_bytes = 4;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "that of an array has a mode of OVERTAKE_USE_..., and no", good);
    arguments[0].value_bytes = 0;
    bad = good, bad.launch = set_bytes;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "one of kernel, launch and run", bad);
    bad = good, bad.is_on_device = 1, bad.device = 1;
    refused(arrays, OVERTAKE_ERROR_REFUSED, "add", bad);
    bad.device = 300;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "no device 300", bad);
    bad = good, bad.priority = 1000;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "priority 1000", bad);
    bad = good, bad.arguments = NULL;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "arguments is null, but arguments_count is 4", bad);
    bad = good, bad.arguments_count = 0;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "arguments is set, but arguments_count is 0", bad);
    bad = good, bad.after_count = 1;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "after is null, but after_count is 1", bad);
    bad.after = &task, bad.after_count = 0;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "after is set, but after_count is 0", bad);
    bad = good, bad.kernel = (Kernel *)(void *)a;
    refused(arrays, OVERTAKE_ERROR_INVALID_HANDLE, "is not a kernel here", bad);
    bad = good, bad.arguments = &one, bad.arguments_count = 1, bad.kernel = NULL, bad.run = fails;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "relaxed uses are for the device", bad);
    one.mode = OVERTAKE_USE_DISCARD, bad.retries = 1;
    refused(arrays, OVERTAKE_ERROR_REFUSED, "", bad);
    one.mode = OVERTAKE_USE_WRITE, bad.run = NULL, bad.launch = set_bytes;
    refused(arrays, OVERTAKE_ERROR_REFUSED, "repeated on bytes that it has changed", bad);
    one.first = COUNT;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "no part of an array of 4096", bad);
    bad.arguments = &none;
    refused(arrays, OVERTAKE_ERROR_INVALID_ARGUMENT, "argument 1: it has an array with a mode, or a value", bad);
    one.first = 0, one.mode = OVERTAKE_USE_DISCARD;
    bad.arguments = &one, bad.retries = 0, bad.launch = NULL, bad.run = fails;
    task = compute(arrays, bad);
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "the file is empty", overtake_task_wait(task));
    Access *access = NULL;
    void *memory = NULL;
    REFUSED(OVERTAKE_ERROR_TASK_NOT_RUN, "the file is empty", overtake_array_open(b, NULL, &memory, &access));
    REQUIRE(memory == NULL && access == NULL);
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "3 are given", overtake_arrays_wait(arrays));
}

static void wrong_calls(Dispatcher *dispatcher, Arrays *arrays)
{
    Array *array = NULL;
    Kernel *kernel = NULL;
    Arrays *other = NULL;
    struct overtake_arrays_options options = {.struct_size = sizeof options, .selection = 77};
    struct overtake_adopt_spec adopt = {.struct_size = sizeof adopt, .free_data = count_freed};
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "selection 77", overtake_arrays_open(dispatcher, &options, &other));
    options.selection = OVERTAKE_SELECTION_MIN_MIN_TRANSFER_TIME;
    REFUSED(CUDA_ERROR_INVALID_VALUE, "there are no bandwidths", overtake_arrays_open(dispatcher, &options, &other));
    options.bandwidths = "nonsense";
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "bandwidths: line", overtake_arrays_open(dispatcher, &options, &other));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "one element", overtake_array_new(arrays, 0, 4, &array));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "one element", overtake_array_new(arrays, SIZE_MAX / 2, 4, &array));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "array is null", overtake_array_new(arrays, 1, 4, NULL));
    int freed_before = atomic_load(&freed);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "one element", overtake_array_adopt(arrays, &adopt, &array));
    adopt.count = 1, adopt.element_bytes = 4;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "memory is not null", overtake_array_adopt(arrays, &adopt, &array));
    adopt.memory = &adopt, adopt.is_on_device = 1, adopt.device = 3;
    REFUSED(CUDA_ERROR_INVALID_VALUE, "device 3 is none", overtake_array_adopt(arrays, &adopt, &array));
    REQUIRE(atomic_load(&freed) == freed_before + 3);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "image", overtake_kernel_load(arrays, "", 0, "add", &kernel));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "from one to 1", overtake_kernel_adopt(arrays, NULL, 1, "add", &kernel));
    REQUIRE(overtake_kernel_load(arrays, "no text", 7, "add", &kernel) > 0 && kernel == NULL && array == NULL);
}

int main(void)
{
    open_device();
    Dispatcher *dispatcher = new_dispatcher();
    Arrays *arrays = NULL;
    OK(overtake_arrays_open(dispatcher, NULL, &arrays));
    Kernel *add = load(arrays, "work_add");
    a_chain_of_kernels(arrays, add);
    functions_and_parts(arrays);
    accesses_keep_back(arrays, add);
    accesses_that_are_late(arrays, add);
    memory_of_the_program(arrays, add);
    a_set_that_is_closed(dispatcher);
    closed_beside_a_wait(dispatcher);
    closed_beside_an_access(dispatcher);
    a_close_that_fails(dispatcher);
    wrong_computations(arrays, add);
    wrong_calls(dispatcher, arrays);
    /* The dispatcher closes its sets. */
    OK(overtake_dispatcher_close(dispatcher));
    REQUIRE(overtake_arrays_wait(arrays) == OVERTAKE_ERROR_INVALID_HANDLE);
    OK(overtake_close());
    puts("ok");
    return 0;
}
