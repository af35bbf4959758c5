/* Under the drop-in the program's own calls have the priorities that it sets here: one state serves both. */
#include "expect.h"

enum { BULK = 8 << 20, SMALL = 64 << 10, ROUNDS = 12 };

static struct overtake_statistics sums(void)
{
    struct overtake_statistics sums;
    memset(&sums, 0, sizeof sums);
    sums.struct_size = sizeof sums;
    OK(overtake_read_statistics(&sums));
    return sums;
}

int main(void)
{
    unsigned char *bulk, *small, *back;
    void *bulk_on_device, *small_on_device;
    CUstream loader, worker;
    int before = 0;
    /* Each small copy counts as urgent, also where the bulk before it has ended early. */
    REQUIRE(setenv("OVERTAKE_UNLISTED", "lull=off,calm_after_us=600000000", 1) == 0);
    /* Before the driver is initialised, scopes and questions do not fail. */
    REQUIRE(strcmp(overtake_deployment(), "idle") == 0 && overtake_priorities() == 7);
    OK(overtake_push_priority(4));
    REQUIRE(sums().passed_on_copies == 0);
    REQUIRE(overtake_open(NULL) == OVERTAKE_ERROR_NOT_STARTED);
    open_device();
    REQUIRE(strcmp(overtake_deployment(), "preload") == 0);
    OK(overtake_pop_priority());

    bulk = pinned_bytes(BULK, 1), small = pinned_bytes(SMALL, 2), back = pinned_bytes(SMALL, 3);
    bulk_on_device = on_device(BULK), small_on_device = on_device(SMALL);
    loader = new_stream(), worker = new_stream();
    OK(overtake_adopt_stream(loader, OVERTAKE_PRIORITY_LOWEST));
    for (int i = 0; i < ROUNDS; i++) {
        OK(cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)bulk_on_device, bulk, BULK, loader));
        OK(overtake_push_priority(6));
        OK(cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)small_on_device, small, SMALL, worker));
        OK(overtake_pop_priority());
        OK(cuStreamSynchronize(worker));
    }
    OK(overtake_memcpy_async(back, small_on_device, SMALL, OVERTAKE_COPY_DEVICE_TO_HOST, worker, 6));
    OK(cuStreamSynchronize(worker));
    OK(cuStreamSynchronize(loader));
    REQUIRE(memcmp(back, small, SMALL) == 0);
    OK(overtake_set_thread_priority(OVERTAKE_PRIORITY_BY_RULES, &before));
    REQUIRE(before == 0);
    REQUIRE(sums().urgent_copies >= ROUNDS && sums().kernel_copies > 0 && sums().errors == 0);
    /* The layer serves the whole program, and not only this caller. */
    OK(overtake_close());
    OK(overtake_stream_priority(loader, &before));
    REQUIRE(before == OVERTAKE_PRIORITY_LOWEST);
    OK(overtake_release_stream(loader));
    puts("ok");
    return 0;
}
