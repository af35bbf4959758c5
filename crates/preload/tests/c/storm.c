/* Random legal operations from several threads whose outcome is the same every time: whatever differs from the native
 * run is a defect of whoever stands in between.
 *
 * usage: storm SEED [OPERATIONS a thread [THREADS [loud]]] [VARIABLE=VALUE ...]
 *
 * Every thread has its own streams, events and buffers and, with OWN_CONTEXTS=1, every second one a context of its own.
 * The same seed with fewer operations is the beginning of the same run; `loud` with one
 * thread prints every call. */
#define _GNU_SOURCE
#include "dlopened.h"
#include "storm.h"

/* One operation that reads one buffer and writes another. */
typedef struct {
    Buffer *from, *to;
    size_t from_at, to_at, bytes;
    int slot, lane;
} Copy;

static void submitted(Storm *storm, const Copy *copy)
{
    uint64_t number = ++storm->order.count[copy->lane];
    if (copy->from != NULL && copy->from->kind != PAGEABLE) /* what was pageable has been staged */
        used(copy->lane, number, copy->from, 0);
    used(copy->lane, number, copy->to, 1);
    if (copy->to->kind == PAGEABLE)
        stands_behind(&storm->order, HOST, copy->lane);
}

static void submitting(Storm *storm, const Copy *copy)
{
    enter(&storm->order, copy->lane);
    if (copy->from != NULL) {
        wait_for_source(&storm->order, copy->lane, copy->from);
        use(&storm->order, copy->from->kind == PAGEABLE ? HOST : copy->lane, copy->from, 0);
    }
    use(&storm->order, copy->to->kind == PAGEABLE ? HOST : copy->lane, copy->to, 1);
}

/* Between host and device for the most part. */
static Copy any_copy(Storm *storm, int slot, int host_end)
{
    Copy copy = {.from = any_host(storm, host_end), .to = any_device(storm), .bytes = any_bytes(storm), .slot = slot};
    if (draw(storm, 2)) {
        Buffer *swapped = copy.from;
        copy.from = copy.to, copy.to = swapped;
    }
    if (!storm->order.is_held && draw(storm, 8) == 0) { /* from host to host the driver waits for what is held */
        int base = draw(storm, 2) ? 0 : DEVICES, count = base == 0 ? DEVICES : REGISTERED_END - DEVICES;
        uint32_t one = draw(storm, (size_t)count), step = 1 + draw(storm, (size_t)count - 1);
        copy.from = &storm->buffers[base + (int)one];
        copy.to = &storm->buffers[base + (int)((one + step) % (uint32_t)count)];
    }
    copy.from_at = any_place(storm, copy.bytes), copy.to_at = any_place(storm, copy.bytes);
    copy.lane = lane_of(slot);
    return copy;
}

static void call_copy(Storm *storm, const Copy *copy)
{
    CUdeviceptr to = copy->to->address + copy->to_at, from = copy->from->address + copy->from_at;
    unsigned char *host_to = copy->to->host + copy->to_at, *host_from = copy->from->host + copy->from_at;
    int is_unified = copy->from->kind != PAGEABLE && copy->to->kind != PAGEABLE && draw(storm, 3) == 0;
    CUstream stream = handle(storm, copy->slot);
    if (is_unified || (copy->from->kind != DEVICE && copy->to->kind != DEVICE))
        DO(cuMemcpyAsync(to, from, copy->bytes, stream));
    else if (copy->from->kind != DEVICE)
        DO(cuMemcpyHtoDAsync(to, host_from, copy->bytes, stream));
    else if (copy->to->kind != DEVICE)
        DO(cuMemcpyDtoHAsync(host_to, from, copy->bytes, stream));
    else
        DO(cuMemcpyDtoDAsync(to, from, copy->bytes, stream));
}

static void copy_once(Storm *storm, int slot, int host_end)
{
    Copy copy = any_copy(storm, slot, host_end);
    submitting(storm, &copy);
    call_copy(storm, &copy);
    submitted(storm, &copy);
}

static void copy_async(Storm *storm)
{
    copy_once(storm, (int)draw(storm, LANES), BUFFERS);
}

/* Several that follow closely. */
static void copy_run(Storm *storm)
{
    int slot = (int)draw(storm, LANES);
    for (uint32_t left = 2 + draw(storm, 12); left > 0; left--)
        copy_once(storm, slot, REGISTERED_END);
}

/* In the default stream; what touches the host has ended when the call returns. */
static void copy_blocking(Storm *storm)
{
    Copy copy = any_copy(storm, DEFAULT, BUFFERS);
    CUdeviceptr to = copy.to->address + copy.to_at, from = copy.from->address + copy.from_at;
    int is_unified = copy.from->kind != PAGEABLE && copy.to->kind != PAGEABLE && draw(storm, 3) == 0;
    submitting(storm, &copy);
    if (is_unified || (copy.from->kind != DEVICE && copy.to->kind != DEVICE))
        DO(cuMemcpy(to, from, copy.bytes));
    else if (copy.from->kind != DEVICE)
        DO(cuMemcpyHtoD(to, copy.from->host + copy.from_at, copy.bytes));
    else if (copy.to->kind != DEVICE)
        DO(cuMemcpyDtoH(copy.to->host + copy.to_at, from, copy.bytes));
    else
        DO(cuMemcpyDtoD(to, from, copy.bytes));
    submitted(storm, &copy);
    if (copy.from->kind != PAGEABLE && (copy.from->kind != DEVICE || copy.to->kind != DEVICE))
        stands_behind(&storm->order, HOST, copy.lane);
}

static CUDA_MEMCPY3D box(Storm *storm, const Copy *copy, size_t depth)
{
    size_t width = 1 + draw(storm, 3000), height = 1 + draw(storm, 300 / depth);
    CUDA_MEMCPY3D box = {.WidthInBytes = width, .Height = height, .Depth = depth};
    box.srcPitch = width + draw(storm, 1000), box.dstPitch = width + draw(storm, 1000);
    box.srcHeight = height + draw(storm, 10), box.dstHeight = height + draw(storm, 10);
    box.srcXInBytes = draw(storm, box.srcPitch - width + 1), box.dstXInBytes = draw(storm, box.dstPitch - width + 1);
    box.srcMemoryType = copy->from->kind == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    box.dstMemoryType = copy->to->kind == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    box.srcHost = copy->from->host, box.srcDevice = copy->from->address;
    box.dstHost = copy->to->host, box.dstDevice = copy->to->address;
    return box;
}

static void shapes(Storm *storm)
{
    Copy copy = any_copy(storm, (int)draw(storm, LANES), BUFFERS);
    CUDA_MEMCPY3D deep = box(storm, &copy, 1 + draw(storm, 4));
    CUDA_MEMCPY2D flat = {.srcXInBytes = deep.srcXInBytes, .srcMemoryType = deep.srcMemoryType};
    flat.srcHost = deep.srcHost, flat.srcDevice = deep.srcDevice, flat.srcPitch = deep.srcPitch;
    flat.dstXInBytes = deep.dstXInBytes, flat.dstMemoryType = deep.dstMemoryType, flat.dstHost = deep.dstHost;
    flat.dstDevice = deep.dstDevice, flat.dstPitch = deep.dstPitch;
    flat.WidthInBytes = deep.WidthInBytes, flat.Height = deep.Height;
    uint32_t which = draw(storm, 4);
    if (which >= 2)
        copy.slot = DEFAULT, copy.lane = lane_of(DEFAULT);
    submitting(storm, &copy);
    if (which == 0)
        DO(cuMemcpy2DAsync(&flat, handle(storm, copy.slot)));
    else if (which == 1)
        DO(cuMemcpy3DAsync(&deep, handle(storm, copy.slot)));
    else if (which == 2)
        DO(cuMemcpy2DUnaligned(&flat));
    else
        DO(cuMemcpy3D(&deep));
    submitted(storm, &copy);
}

/* Pinned memory to and from different buffers, none twice. Not every driver has the call. */
static void batches(Storm *storm)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t first = 0, sizes[4];
    CUdeviceptr to[4], from[4];
    Copy copies[4];
    int lane = BLOCKING + (int)draw(storm, LANES - BLOCKING), count = 2 + (int)draw(storm, 3);
    __typeof__(&cuMemcpyBatchAsync_v2) batch = FIND(RTLD_DEFAULT, cuMemcpyBatchAsync_v2);
    __typeof__(&cuMemcpyBatchAsync_v1) older = FIND(RTLD_DEFAULT, cuMemcpyBatchAsync_v1);
    int takes_older = (int)draw(storm, 2);
    if (takes_older ? older == NULL : batch == NULL)
        return;
    for (int i = 0; i < count; i++) {
        Copy copy = {.bytes = any_bytes(storm), .slot = lane, .lane = lane};
        int to_device = (int)draw(storm, 2);
        Buffer *device = &storm->buffers[i], *host = &storm->buffers[DEVICES + i];
        copy.from = to_device ? host : device, copy.to = to_device ? device : host;
        copies[i] = copy;
        sizes[i] = copy.bytes;
        from[i] = copy.from->address + any_place(storm, copy.bytes);
        to[i] = copy.to->address + any_place(storm, copy.bytes);
        submitting(storm, &copies[i]);
    }
    if (takes_older)
        DO(older(to, from, sizes, (size_t)count, &attributes, &first, 1, NULL, handle(storm, lane)));
    else
        DO(batch(to, from, sizes, (size_t)count, &attributes, &first, 1, handle(storm, lane)));
    for (int i = 0; i < count; i++)
        submitted(storm, &copies[i]);
}

/* Device memory is written by the device alone: sets, a kernel, a word of the stream's. */
static void writes(Storm *storm)
{
    Copy write = {.to = any_device(storm), .slot = (int)draw(storm, LANES), .bytes = any_bytes(storm)};
    CUdeviceptr at = write.to->address + any_place(storm, write.bytes), word = at / 4 * 4;
    uint32_t value = draw(storm, 1u << 30), which = draw(storm, 6);
    if (which == 5)
        write.slot = DEFAULT;
    write.lane = lane_of(write.slot);
    CUstream stream = handle(storm, write.slot);
    submitting(storm, &write);
    switch (which) {
    case 0:
        DO(cuMemsetD8Async(at, (unsigned char)value, write.bytes, stream));
        break;
    case 1:
        DO(cuMemsetD32Async(word, value, (write.bytes + 3) / 4, stream));
        break;
    case 2:
        DO(cuMemsetD2D8Async(write.to->address, 4096, (unsigned char)value, 1 + value % 4096, 1 + value % 600, stream));
        break;
    case 3:
        DO(cuLaunchKernel(storm->add, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&word, &value}, NULL));
        break;
    case 4:
        DO(cuStreamWriteValue32(stream, word, value, CU_STREAM_WRITE_VALUE_DEFAULT));
        break;
    default:
        DO(cuMemsetD8(at, (unsigned char)value, write.bytes));
    }
    submitted(storm, &write);
}

/* Memory that lives as long as its stream needs it. */
static void passing_memory(Storm *storm)
{
    Copy copy = {.from = any_host(storm, PINNED_END), .bytes = any_bytes(storm), .slot = (int)draw(storm, LANES)};
    CUdeviceptr device = 0;
    do
        copy.to = any_host(storm, REGISTERED_END);
    while (copy.to == copy.from);
    copy.lane = lane_of(copy.slot);
    CUstream stream = handle(storm, copy.slot);
    submitting(storm, &copy);
    OK(cuMemAllocAsync(&device, BUFFER_BYTES, stream));
    DO(cuMemcpyHtoDAsync(device, copy.from->host, copy.bytes, stream));
    DO(cuMemcpyDtoHAsync(copy.to->host, device, copy.bytes, stream));
    OK(cuMemFreeAsync(device, stream));
    submitted(storm, &copy);
}

/* The host reads what has been copied, and writes what will be. */
static void look(Storm *storm)
{
    Buffer *buffer = any_host(storm, BUFFERS);
    use(&storm->order, HOST, buffer, 0);
    storm->order.sum = mix(storm->order.sum, checksum(buffer->host, BUFFER_BYTES));
}

static void touch(Storm *storm)
{
    Buffer *buffer = any_host(storm, BUFFERS);
    size_t bytes = any_bytes(storm);
    use(&storm->order, HOST, buffer, 1);
    paint(buffer->host + any_place(storm, bytes), bytes, draw(storm, 1000));
}

static void synchronise(Storm *storm)
{
    int lane = LEGACY + (int)draw(storm, LANES - LEGACY);
    CUresult code = CUDA_SUCCESS;
    switch (draw(storm, 4)) {
    case 0:
        host_waits(&storm->order, lane);
        stands_behind(&storm->order, HOST, lane);
        return;
    case 1:
        code = cuStreamQuery(handle(storm, lane));
        if (code == CUDA_SUCCESS)
            stands_behind(&storm->order, HOST, lane);
        break;
    case 2:
        code = cuEventQuery(some_event(&storm->order));
        break;
    default:
        nap_us(draw(storm, 300));
    }
    REQUIRE(code == CUDA_SUCCESS || code == CUDA_ERROR_NOT_READY);
}

/* A stream goes while it is busy; the new one is behind what it has been given. */
static void renew_lane(Storm *storm)
{
    int lane = BLOCKING + (int)draw(storm, LANES - BLOCKING);
    CUevent last = some_event(&storm->order);
    OK(cuEventRecord(last, handle(storm, lane)));
    OK(cuStreamDestroy(handle(storm, lane)));
    storm->order.streams[lane] = new_lane(lane);
    OK(cuStreamWaitEvent(handle(storm, lane), last, 0));
}

static void renew_buffer(Storm *storm)
{
    Buffer *buffer = &storm->buffers[draw(storm, BUFFERS)];
    uint32_t seed = draw(storm, 1000);
    use(&storm->order, HOST, buffer, 1);
    free_buffer(buffer);
    make_buffer(buffer, seed);
    if (buffer->kind != DEVICE)
        return;
    Copy set = {.to = buffer, .slot = (int)draw(storm, LANES)};
    set.lane = lane_of(set.slot);
    submitting(storm, &set);
    DO(cuMemsetD8Async(buffer->address, (unsigned char)seed, BUFFER_BYTES, handle(storm, set.slot)));
    submitted(storm, &set);
}

/* A stream waits for the host while more is submitted, to it and to others that may wait for it. */
static void held(Storm *storm)
{
    Order *order = &storm->order;
    enter_room(WAITING_ROOM);
    get_behind(order, HOST, storm->gated_lane, storm->gated_number);
    leave_room(WAITING_ROOM);
    storm->gated_lane = APART + (int)draw(storm, LANES - APART);
    store_word(storm->gate.word, 0);
    enter_room(HELD_ROOM);
    order->is_held = 1;
    hold(storm->gate, handle(storm, storm->gated_lane));
    storm->gated_number = ++order->count[storm->gated_lane];
    for (uint32_t left = 1 + draw(storm, 8); left > 0; left--)
        copy_once(storm, draw(storm, 2) ? storm->gated_lane : (int)draw(storm, LANES), REGISTERED_END);
    nap_us(draw(storm, 200));
    open_gate(storm->gate);
    order->is_held = 0;
    leave_room(HELD_ROOM);
}

/* Copies that a graph is made of; each of two streams has its own buffers. */
static void capture_some(Storm *storm, int lane, int half)
{
    for (uint32_t left = 1 + draw(storm, 3); left > 0; left--) {
        Buffer *host = &storm->buffers[DEVICES + 2 * half + (int)draw(storm, 2)];
        Buffer *device = &storm->buffers[3 * half + (int)draw(storm, 3)];
        size_t bytes = any_bytes(storm);
        if (draw(storm, 2))
            DO(cuMemcpyHtoDAsync(device->address, host->host, bytes, handle(storm, lane)));
        else
            DO(cuMemcpyDtoHAsync(host->host, device->address, bytes, handle(storm, lane)));
    }
}

static CUgraph captured(Storm *storm, int lane)
{
    static const int modes[] = {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED};
    CUgraph graph = NULL;
    CUevent fork = storm->order.events[0], join = storm->order.events[1];
    int other = lane == APART ? URGENT : APART;
    enter_room(HELD_ROOM);
    OK(cuStreamBeginCapture(handle(storm, lane), modes[draw(storm, 2)]));
    OK(cuEventRecord(fork, handle(storm, lane)));
    OK(cuStreamWaitEvent(handle(storm, other), fork, 0));
    capture_some(storm, lane, 0);
    capture_some(storm, other, 1);
    OK(cuEventRecord(join, handle(storm, other)));
    OK(cuStreamWaitEvent(handle(storm, lane), join, 0));
    OK(cuStreamEndCapture(handle(storm, lane), &graph));
    leave_room(HELD_ROOM);
    /* What a captured record has made of them can only be used in a capture. */
    OK(cuEventRecord(fork, handle(storm, lane)));
    OK(cuEventRecord(join, handle(storm, lane)));
    return graph;
}

static void replay(Storm *storm)
{
    int lane = APART + (int)draw(storm, LANES - APART);
    CUgraph graph = captured(storm, lane);
    CUgraphExec executable = NULL;
    enter_room(WAITING_ROOM);
    CUresult code = DO(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; code == CUDA_SUCCESS && i < PINNED_END; i++)
        use(&storm->order, lane, &storm->buffers[i], 1);
    for (uint32_t left = 1 + draw(storm, LAUNCHES_MAX); code == CUDA_SUCCESS && left > 0; left--)
        OK(cuGraphLaunch(executable, handle(storm, lane)));
    if (code == CUDA_SUCCESS) {
        uint64_t number = ++storm->order.count[lane];
        for (int i = 0; i < PINNED_END; i++)
            used(lane, number, &storm->buffers[i], 1);
        OK(cuGraphExecDestroy(executable));
    }
    OK(cuGraphDestroy(graph));
    leave_room(WAITING_ROOM);
}

/* What a storm is made of, how often, and the room that it needs where it does not see to that itself. */
static const struct {
    void (*make)(Storm *);
    uint32_t weight;
    int room;
} operations[] = {
    {copy_async, 4, WAITING_ROOM},     {copy_run, 3, WAITING_ROOM},   {copy_blocking, 2, WAITING_ROOM},
    {shapes, 2, WAITING_ROOM},         {batches, 2, NO_ROOM},         {writes, 3, NO_ROOM},
    {passing_memory, 2, WAITING_ROOM}, {look, 1, WAITING_ROOM},       {touch, 2, WAITING_ROOM},
    {held, 2, NO_ROOM},                {renew_lane, 1, WAITING_ROOM}, {replay, 1, NO_ROOM},
    {synchronise, 1, WAITING_ROOM},    {renew_buffer, 1, WAITING_ROOM},
};
enum { WEIGHTS = 27 };

static void any_operation(Storm *storm)
{
    uint32_t which = draw(storm, WEIGHTS);
    int i = 0;
    for (; which >= operations[i].weight; i++)
        which -= operations[i].weight;
    if (operations[i].room != NO_ROOM)
        enter_room(operations[i].room);
    operations[i].make(storm);
    if (operations[i].room != NO_ROOM)
        leave_room(operations[i].room);
}

static void say(Storm *storm, int operation)
{
    char *at = storm->lines + storm->line_end;
    unsigned long long codes = storm->order.codes, sum = storm->order.sum;
    size_t left = LINES_BYTES - storm->line_end;
    storm->line_end += (size_t)snprintf(at, left, "%d, after %d: codes %016llx, bytes %016llx\n", storm->number,
                                        operation, codes, sum);
    REQUIRE(storm->line_end < LINES_BYTES);
}

static void make_all(Storm *storm)
{
    CUmodule module = NULL;
    begin_order(&storm->order, storm->seed);
    storm->gate = new_gate();
    storm->gated_lane = APART;
    OK(cuModuleLoadData(&module, kernels_text()));
    OK(cuModuleGetFunction(&storm->add, module, "soft_atomic_add_u32"));
    for (int i = 0; i < BUFFERS; i++) {
        Buffer *buffer = &storm->buffers[i];
        buffer->kind = i < DEVICES ? DEVICE : i < PINNED_END ? PINNED : i < REGISTERED_END ? REGISTERED : PAGEABLE;
        buffer->writer = LEGACY;
        make_buffer(buffer, (uint64_t)i);
        if (buffer->kind == DEVICE)
            OK(cuMemsetD8(buffer->address, (unsigned char)i, BUFFER_BYTES));
    }
    /* The per-thread stream is made when it is first used, and making a stream may wait for what is held. */
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    OK(cuCtxSynchronize());
}

/* Every byte of every buffer. */
static void sum_all(Storm *storm)
{
    unsigned char *bytes = malloc(BUFFER_BYTES);
    REQUIRE(bytes != NULL);
    OK(cuCtxSynchronize());
    for (int i = 0; i < BUFFERS; i++) {
        if (storm->buffers[i].kind == DEVICE)
            OK(cuMemcpyDtoH(bytes, storm->buffers[i].address, BUFFER_BYTES));
        else
            memcpy(bytes, storm->buffers[i].host, BUFFER_BYTES);
        storm->order.sum = mix(storm->order.sum, checksum(bytes, BUFFER_BYTES));
        if (storm->order.is_loud)
            printf("buffer %d: %016llx\n", i, (unsigned long long)checksum(bytes, BUFFER_BYTES));
    }
    free(bytes);
}

static void *run_thread(void *argument)
{
    Storm *storm = argument;
    CUcontext own = NULL;
    enter_room(WAITING_ROOM);
    if (storm->number % 2 && getenv("OWN_CONTEXTS") != NULL)
        OK(cuCtxCreate_v2(&own, 0, 0));
    else
        OK(cuCtxSetCurrent(storm->context));
    make_all(storm);
    leave_room(WAITING_ROOM);
    for (int i = 0; i < storm->operations; i++) {
        if (storm->order.is_loud)
            printf("operation %d\n", i);
        any_operation(storm);
        if ((i + 1) % OPERATIONS_A_LINE == 0)
            say(storm, i + 1);
    }
    enter_room(WAITING_ROOM);
    sum_all(storm);
    say(storm, storm->operations);
    end_order(&storm->order);
    for (int i = 0; i < BUFFERS; i++)
        free_buffer(&storm->buffers[i]);
    free_gate(storm->gate);
    if (own != NULL)
        OK(cuCtxDestroy(own));
    leave_room(WAITING_ROOM);
    return NULL;
}

static int number_at(int count, char **arguments, int index, int otherwise)
{
    return index < count ? atoi(arguments[index]) : otherwise;
}

int main(int count, char **arguments)
{
    static Storm storms[THREADS_MAX];
    while (count > 1 && strchr(arguments[count - 1], '=') != NULL)
        REQUIRE(putenv(arguments[--count]) == 0);
    uint32_t seed = (uint32_t)number_at(count, arguments, 1, 1);
    int steps = number_at(count, arguments, 2, 150), threads = number_at(count, arguments, 3, 3);
    REQUIRE(threads > 0 && threads <= THREADS_MAX);
    /* A kernel that is loaded when it is first launched waits for what is held. */
    REQUIRE(setenv("CUDA_MODULE_LOADING", "EAGER", 1) == 0);
    CUcontext context = open_device();
    REQUIRE(*kernels_text() != 0); /* before there are threads */
    for (int i = 0; i < threads; i++) {
        storms[i].context = context, storms[i].number = i, storms[i].operations = steps;
        storms[i].seed = seed * 16 + (uint32_t)i;
        storms[i].order.is_loud = count > 4;
        REQUIRE(pthread_create(&storms[i].thread, NULL, run_thread, &storms[i]) == 0);
    }
    for (int i = 0; i < threads; i++) {
        REQUIRE(pthread_join(storms[i].thread, NULL) == 0);
        fputs(storms[i].lines, stdout);
    }
    close_device();
    return 0;
}
