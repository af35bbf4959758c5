/* A device that is full: calls that need room on it wait as long as their caller says. */
#include "arrays.h"

#include <time.h>

#define ELEMENTS ((size_t)2 << 20)
#define WAIT_NS 20000000

/* Two arrays, of which the device has room for one. */
static Array *one, *other;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

static int use_nothing(struct overtake_lane *lane, void *const *addresses, void *data)
{
    (void)lane, (void)addresses, (void)data;
    return 0;
}

static int use_on_device(Arrays *arrays, Array *array, uint32_t references, int64_t room_timeout_ns, Task **task)
{
    Argument uses[1] = {use(array, OVERTAKE_USE_READ_WRITE)};
    Computation spec = {.struct_size = sizeof spec, .name = "use", .arguments = uses, .arguments_count = 1};
    spec.launch = use_nothing, spec.references = references, spec.room_timeout_ns = room_timeout_ns;
    return overtake_compute(arrays, &spec, task);
}

static int bring(Array *array, int64_t room_timeout_ns)
{
    AccessSpec spec = {.struct_size = sizeof spec, .is_on_device = 1, .room_timeout_ns = room_timeout_ns};
    return overtake_array_bring(array, &spec, NULL);
}

static int open_on_device(Array *array, int64_t room_timeout_ns, Access **access)
{
    void *memory = NULL;
    AccessSpec spec = {.struct_size = sizeof spec, .is_on_device = 1, .room_timeout_ns = room_timeout_ns};
    return overtake_array_open(array, &spec, &memory, access);
}

int main(void)
{
    open_device();
    Dispatcher *dispatcher = new_dispatcher();
    Arrays *arrays = NULL;
    struct overtake_arrays_options options = {.struct_size = sizeof options, .device_bytes_max = 4 * ELEMENTS};
    OK(overtake_arrays_open(dispatcher, &options, &arrays));
    one = new_array(arrays, ELEMENTS, 4), other = new_array(arrays, ELEMENTS, 4);
    fill(one, ELEMENTS, 1, 0), fill(other, ELEMENTS, 2, 0);
    Task *held = NULL;
    OK(use_on_device(arrays, one, 1, 0, &held));
    Access *access = NULL;
    int64_t start = now_ns();
    REFUSED(OVERTAKE_ERROR_TIMEOUT, "the device is full", use_on_device(arrays, other, 0, WAIT_NS, NULL));
    REFUSED(OVERTAKE_ERROR_TIMEOUT, "wait longer, drop arrays", bring(other, WAIT_NS));
    REFUSED(OVERTAKE_ERROR_TIMEOUT, "the device is full", open_on_device(other, WAIT_NS, &access));
    int64_t waited_ns = now_ns() - start;
    REQUIRE(waited_ns >= 3 * (int64_t)WAIT_NS && waited_ns < 1000 * (int64_t)WAIT_NS && access == NULL);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "timeout_ns is -7", bring(other, -7));
    OK(overtake_task_release(held));
    OK(use_on_device(arrays, other, 0, OVERTAKE_FOR_EVER, NULL));
    OK(open_on_device(one, OVERTAKE_FOR_EVER, &access));
    OK(overtake_access_close(access));
    OK(bring(other, OVERTAKE_FOR_EVER));
    REQUIRE(element(one, 3) == 1 && element(other, ELEMENTS - 1) == 2);
    OK(overtake_task_free(held));
    OK(overtake_arrays_close(arrays));
    OK(overtake_dispatcher_close(dispatcher));
    OK(overtake_close());
    puts("ok");
    return 0;
}
