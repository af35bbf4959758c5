/* The driver judges addresses: copies and sets in memory of every kind, within it and past its end. Each cell of the
 * table prints the codes of the call and of the wait, and a checksum of all memory around. With an argument the device
 * is full of a kernel of the program's, so that copy kernels cannot begin. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "client.h"

/* Memory is two pieces side by side, if the driver puts them so. A copy is as long as one. */
enum { PIECE = 2 * MIB, AREA = 2 * PIECE, PAGE = 4096 };
enum { ROW = 64 * KIB, ROWS = PIECE / ROW, SLICES = 4 };
enum { BEFORE = 0x5a };

/* Device memory that a copy uses from `at` on, and the context whose calls reach all of it in pieces. */
typedef struct {
    const char *name;
    CUcontext owner;
    CUdeviceptr pieces[2], at;
} Place;

static CUcontext home, other_context, other_device;
static CUstream bulk, urgent;
static Place own;
static CUdeviceptr small_device;
static unsigned char *pinned, *pageable, *small_host, *back;

typedef struct {
    Place place;
    /* The host's side: pinned and pageable memory, or twice the same. */
    unsigned char *pinned, *pageable, *host_area;
} Cell;

static CUDA_MEMCPY3D shape(Cell *cell, int to_device)
{
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = cell->pinned, copy.dstHost = cell->pinned;
    copy.srcDevice = cell->place.at, copy.dstDevice = cell->place.at;
    copy.srcPitch = copy.dstPitch = ROW, copy.srcHeight = copy.dstHeight = ROWS / SLICES;
    copy.WidthInBytes = ROW - 16, copy.Height = ROWS / SLICES, copy.Depth = SLICES;
    return copy;
}

static CUresult three(Cell *cell, int to_device)
{
    CUDA_MEMCPY3D copy = shape(cell, to_device);
    return cuMemcpy3DAsync(&copy, bulk);
}

static CUresult two(Cell *cell, int to_device)
{
    CUDA_MEMCPY3D box = shape(cell, to_device);
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = box.srcMemoryType, copy.dstMemoryType = box.dstMemoryType;
    copy.srcHost = cell->pinned, copy.dstHost = cell->pinned;
    copy.srcDevice = cell->place.at, copy.dstDevice = cell->place.at;
    copy.srcPitch = copy.dstPitch = ROW, copy.WidthInBytes = ROW - 16, copy.Height = ROWS;
    return cuMemcpy2DAsync(&copy, bulk);
}

/* One copy in memory that is the program's beyond doubt, and one in the cell's. */
static CUresult batch(Cell *cell, int to_device)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t index = 0, sizes[2] = {PIECE, PIECE};
    CUdeviceptr device[2] = {own.pieces[0], cell->place.at};
    CUdeviceptr host[2] = {(uintptr_t)pinned, (uintptr_t)cell->pinned};
    if (own.pieces[0] == cell->place.at)
        device[0] = own.pieces[1];
    if (pinned == cell->pinned)
        host[0] = (uintptr_t)(pinned + PIECE);
    return cuMemcpyBatchAsync_v2(to_device ? device : host, to_device ? host : device, sizes, 2, &attributes, &index,
                                 1, bulk);
}

static CUresult unified(Cell *cell, int to_device)
{
    CUdeviceptr host = (uintptr_t)cell->pinned, device = cell->place.at;
    return to_device ? cuMemcpyAsync(device, host, PIECE, bulk) : cuMemcpyAsync(host, device, PIECE, bulk);
}

static CUresult by_stream(Cell *cell, int to_device)
{
    return to_device ? cuMemcpyHtoDAsync(cell->place.at, cell->pinned, PIECE, bulk)
                     : cuMemcpyDtoHAsync(cell->pinned, cell->place.at, PIECE, bulk);
}

static CUresult pageable_by_stream(Cell *cell, int to_device)
{
    return to_device ? cuMemcpyHtoDAsync(cell->place.at, cell->pageable, PIECE, bulk)
                     : cuMemcpyDtoHAsync(cell->pageable, cell->place.at, PIECE, bulk);
}

static CUresult pageable_at_once(Cell *cell, int to_device)
{
    return to_device ? cuMemcpyHtoD(cell->place.at, cell->pageable, PIECE)
                     : cuMemcpyDtoH(cell->pageable, cell->place.at, PIECE);
}

static CUresult set(Cell *cell, int to_device)
{
    return to_device ? cuMemsetD8Async(cell->place.at, 0x77, PIECE, bulk) : CUDA_SUCCESS;
}

static CUresult on_device(Cell *cell, int to_device)
{
    CUdeviceptr here = own.pieces[0] == cell->place.at ? own.pieces[1] : own.pieces[0], there = cell->place.at;
    return to_device ? cuMemcpyDtoDAsync(there, here, PIECE, bulk) : cuMemcpyDtoDAsync(here, there, PIECE, bulk);
}

/* The first ones need no multiprocessor natively, and do not wait for other streams. */
static const struct {
    const char *name;
    CUresult (*call)(Cell *cell, int to_device);
} OPERATIONS[] = {
    {"pinned", by_stream}, {"batch", batch}, {"2D", two}, {"3D", three}, {"unified", unified},
    {"pageable async", pageable_by_stream}, {"pageable", pageable_at_once}, {"set", set}, {"device", on_device},
};
enum { FIRST_FEW = 4, ALL = sizeof OPERATIONS / sizeof *OPERATIONS };

/* Urgent copies both ways, so that bulk is held back. */
static void keep_company(void)
{
    for (int i = 0; i < 2; i++) {
        OK(cuMemcpyHtoDAsync(small_device, small_host, TRAFFIC_SMALL, urgent));
        OK(cuMemcpyDtoHAsync(small_host, small_device, TRAFFIC_SMALL, urgent));
    }
    OK(cuStreamSynchronize(urgent));
}

static void fill_all(const Place *place)
{
    OK(cuCtxPushCurrent(place->owner));
    for (int i = 0; i < 2; i++)
        if (place->pieces[i] != 0)
            OK(cuMemsetD8(place->pieces[i], (unsigned char)(BEFORE + i), PIECE));
    OK(cuCtxSynchronize());
    OK(cuCtxPopCurrent(NULL));
}

static uint64_t contents(const Place *place, uint64_t sum)
{
    memset(back, 0, AREA);
    OK(cuCtxPushCurrent(place->owner));
    for (int i = 0; i < 2; i++)
        if (place->pieces[i] != 0)
            OK(cuMemcpyDtoHAsync(back + i * PIECE, place->pieces[i], PIECE, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxPopCurrent(NULL));
    return mix(sum, checksum(back, AREA));
}

static CUresult call(Cell *cell, int operation, int to_device, int is_full, CUresult *waited)
{
    CUcontext current = NULL;
    static Gate gate;
    static CUstream filled;
    if (filled == NULL && is_full)
        filled = new_stream(), gate = new_gate();
    if (is_full) {
        store_word(gate.word, 0);
        fill_gpu_until(device_side(gate.word), 1, filled);
        nap_us(2000);
    }
    CUresult code = OPERATIONS[operation].call(cell, to_device);
    *waited = is_full ? cuStreamSynchronize(bulk) : cuCtxSynchronize();
    if (is_full) {
        open_gate(gate);
        OK(cuStreamSynchronize(filled));
    }
    OK(cuCtxGetCurrent(&current));
    REQUIRE(current == home);
    return code;
}

static void try_cell(Cell *cell, int operation, int to_device, int is_full)
{
    CUresult waited = 0;
    fill_all(&own);
    if (cell->place.pieces[0] != own.pieces[0])
        fill_all(&cell->place);
    paint(pinned, AREA, 1 + (uint64_t)operation);
    paint(pageable, AREA, 2 + (uint64_t)operation);
    if (cell->host_area != NULL)
        paint(cell->host_area, AREA, 3 + (uint64_t)operation);
    keep_company();
    CUresult code = call(cell, operation, to_device, is_full, &waited);
    uint64_t sum = mix(checksum(pinned, AREA), checksum(pageable, AREA));
    if (cell->host_area != NULL)
        sum = mix(sum, checksum(cell->host_area, AREA));
    sum = contents(&own, sum);
    if (cell->place.pieces[0] != own.pieces[0])
        sum = contents(&cell->place, sum);
    printf("%s, %s %s: %u, %u, %016llx\n", cell->place.name, OPERATIONS[operation].name,
           to_device ? "to the device" : "back", code, waited, (unsigned long long)sum);
}

static void try_all(Cell cell, int is_full)
{
    for (int operation = 0; operation < (is_full ? FIRST_FEW : ALL); operation++)
        for (int to_device = 1; to_device >= 0; to_device--)
            try_cell(&cell, operation, to_device, is_full);
}

static Cell with_device(Place place)
{
    return (Cell){.place = place, .pinned = pinned, .pageable = pageable};
}

static Place named(const char *name, Place place, size_t offset)
{
    place.name = name, place.at = place.pieces[0] + offset;
    return place;
}

/* Two allocations, of which the second begins where the first ends, if the driver has such. */
static Place neighbours(CUcontext owner, CUresult (*allocate)(CUdeviceptr *pointer))
{
    enum { TRIES = 12 };
    CUdeviceptr all[TRIES];
    Place place = {.owner = owner};
    OK(cuCtxPushCurrent(owner));
    for (int i = 0; i < TRIES; i++)
        OK(allocate(&all[i]));
    place.pieces[0] = all[TRIES - 2], place.pieces[1] = all[TRIES - 1];
    for (int i = 0; i < TRIES; i++)
        for (int j = 0; j < TRIES; j++)
            if (all[j] == all[i] + PIECE)
                place.pieces[0] = all[i], place.pieces[1] = all[j];
    for (int i = 0; i < TRIES; i++)
        if (all[i] != place.pieces[0] && all[i] != place.pieces[1])
            OK(cuMemFree(all[i]));
    OK(cuCtxPopCurrent(NULL));
    return place;
}

static CUresult allocate_here(CUdeviceptr *pointer)
{
    return cuMemAlloc(pointer, PIECE);
}

static CUresult allocate_in_pool(CUdeviceptr *pointer)
{
    CUresult code = cuMemAllocAsync(pointer, PIECE, NULL);
    return code == CUDA_SUCCESS ? cuStreamSynchronize(NULL) : code;
}

/* Two pieces that are mapped, and one behind a hole, so that the addresses of the hole are reserved. */
static Place mapped(void)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr start = 0;
    OK(cuMemAddressReserve(&start, 4 * PIECE, 0, 0, 0));
    for (size_t i = 0; i < 4; i++) {
        unsigned long long memory = 0;
        if (i == 2)
            continue;
        OK(cuMemCreate(&memory, PIECE, &properties, 0));
        OK(cuMemMap(start + i * PIECE, PIECE, 0, memory, 0));
        OK(cuMemRelease(memory));
        OK(cuMemSetAccess(start + i * PIECE, PIECE, &access, 1));
    }
    return (Place){.owner = home, .pieces = {start, start + PIECE}};
}

static void try_mapped(int is_full)
{
    Place all = mapped();
    try_all(with_device(named("a hole behind", (Place){.owner = home, .pieces = {all.pieces[1]}}, PIECE / 2)), is_full);
    try_all(with_device(named("mapped pieces", all, PIECE / 2)), is_full);
    try_all(with_device(named("a mapped piece", all, 0)), is_full);
    for (size_t i = 0; i < 4; i++)
        if (i != 2)
            OK(cuMemUnmap(all.pieces[0] + i * PIECE, PIECE));
    OK(cuMemAddressFree(all.pieces[0], 4 * PIECE));
}

static void try_contexts(int is_full)
{
    Place place = neighbours(other_context, allocate_here);
    try_all(with_device(named("another context", place, 0)), is_full);
    try_all(with_device(named("another context's neighbour", place, PIECE / 2)), is_full);
    if (other_device == NULL)
        return;
    place = neighbours(other_device, allocate_here);
    try_all(with_device(named("another device", place, 0)), is_full);
    OK(cuCtxEnablePeerAccess(other_device, 0));
    try_all(with_device(named("a peer", place, 0)), is_full);
    try_all(with_device(named("a peer's neighbour", place, PIECE / 2)), is_full);
}

static void try_pools_and_managed(int is_full)
{
    Place place = neighbours(home, allocate_in_pool);
    try_all(with_device(named("a pool", place, 0)), is_full);
    try_all(with_device(named("a pool's neighbour", place, PIECE / 2)), is_full);
    if (other_device != NULL)
        try_all(with_device(named("another device's pool", neighbours(other_device, allocate_in_pool), 0)), is_full);
    Place managed = {.owner = home};
    CUresult code = cuMemAllocManaged(&managed.pieces[0], PIECE, CU_MEM_ATTACH_GLOBAL);
    if (code == CUDA_SUCCESS)
        try_all(with_device(named("managed", managed, 0)), is_full);
    else
        printf("managed: %u\n", code);
}

static Cell with_host(const char *name, unsigned char *area, size_t offset)
{
    unsigned char *host = area + offset;
    return (Cell){.place = named(name, own, 0), .pinned = host, .pageable = host, .host_area = area};
}

static void registered(unsigned char *area, size_t offset, size_t bytes, unsigned int flags)
{
    OK(cuMemHostRegister(area + offset, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | flags));
}

static void try_registered(int is_full)
{
    unsigned char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(area != MAP_FAILED);
    registered(area, 0, PIECE, 0);
    try_all(with_host("registered", area, 0), is_full);
    try_all(with_host("registered in the first half", area, PIECE / 2), is_full);
    registered(area, PIECE, PIECE, 0);
    try_all(with_host("two registrations", area, PIECE / 2), is_full);
    OK(cuMemHostUnregister(area));
    try_all(with_host("registered in the second half", area, PIECE / 2), is_full);
    OK(cuMemHostUnregister(area + PIECE));
    registered(area, PIECE, PAGE, 0);
    try_all(with_host("registered in the middle", area, PIECE / 2), is_full);
    OK(cuMemHostUnregister(area + PIECE));
    try_all(with_host("registered no more", area, PIECE / 2), is_full);
    /* Last: a driver may notice a write only on the device, and the context is lost. */
    registered(area, 0, PIECE, CU_MEMHOSTREGISTER_READ_ONLY);
    Cell cell = with_host("registered for reading", area, 0);
    for (int to_device = 1; to_device >= 0; to_device--)
        try_cell(&cell, 0, to_device, is_full);
}

static void open_all(void)
{
    int devices = 0;
    home = open_device();
    bulk = new_stream(), urgent = new_stream();
    own = named("own", neighbours(home, allocate_here), 0);
    small_device = new_device_bytes(TRAFFIC_SMALL), small_host = new_pinned_bytes(TRAFFIC_SMALL);
    pinned = new_pinned_bytes(AREA), back = new_pinned_bytes(AREA);
    pageable = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pageable != MAP_FAILED);
    OK(cuCtxCreate_v2(&other_context, 0, 0));
    OK(cuCtxPopCurrent(NULL));
    OK(cuDeviceGetCount(&devices));
    if (devices > 1) {
        OK(cuCtxCreate_v2(&other_device, 0, 1));
        OK(cuCtxPopCurrent(NULL));
    }
}

int main(int count, char **arguments)
{
    int is_full = count > 1;
    (void)arguments;
    /* The software GPU has two devices then. */
    REQUIRE(setenv("OVERTAKE_SOFT_DEVICES", "2", 1) == 0);
    open_all();
    Traffic traffic = arm();
    /* Where the device is full, copies that come to nothing are first: after a few others the drop-in stands back. */
    try_all(with_device(named("a neighbour", own, PIECE / 2)), is_full);
    if (!is_full) {
        try_contexts(is_full);
        try_pools_and_managed(is_full);
    }
    try_mapped(is_full);
    try_all(with_device(own), is_full);
    if (!is_full)
        try_registered(is_full);
    printf("alive: %u\n", cuCtxSynchronize());
    free_traffic(&traffic);
    return 0;
}
