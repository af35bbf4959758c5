/* Copies while a stream captures: they belong to the graph, untouched. Runs before the drop-in has seen any copy, and
 * again when it prioritises them. */
#define _GNU_SOURCE
#include <pthread.h>

#include "client.h"

/* The codes and counts of one captured graph; where graphs can be launched, the bytes of a replay too. */
static void look_at(CUgraph graph, Traffic *traffic)
{
    size_t nodes = 0;
    CUgraphExec executable = NULL;
    CUresult code = cuGraphGetNodes(graph, NULL, &nodes);
    printf("nodes: %u %zu\n", code, nodes);
    code = cuGraphInstantiateWithFlags(&executable, graph, 0);
    printf("instantiated: %u\n", code);
    for (int replay = 0; code == CUDA_SUCCESS && replay < 3; replay++) {
        paint(traffic->in, TRAFFIC_BULK, 70 + (uint64_t)replay);
        paint(traffic->small_in, TRAFFIC_SMALL, 80 + (uint64_t)replay);
        OK(cuGraphLaunch(executable, traffic->bulk));
        OK(cuStreamSynchronize(traffic->bulk));
        printf("replay: %016llx %016llx\n", (unsigned long long)checksum(traffic->out, TRAFFIC_BULK),
               (unsigned long long)checksum(traffic->small_out, TRAFFIC_SMALL));
    }
    if (executable != NULL)
        OK(cuGraphExecDestroy(executable));
    CODE(cuGraphDestroy(graph));
}

static void linear_capture(Traffic *traffic, int mode)
{
    CUgraph graph = NULL;
    int status = 99;
    memset(traffic->out, 0, TRAFFIC_BULK);
    memset(traffic->small_out, 0, TRAFFIC_SMALL);
    OK(cuStreamBeginCapture(traffic->bulk, mode));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    CODE(cuMemcpyHtoDAsync(traffic->small_device, traffic->small_in, TRAFFIC_SMALL, traffic->bulk));
    CODE(cuMemcpyDtoHAsync(traffic->out, traffic->device, TRAFFIC_BULK, traffic->bulk));
    CODE(cuMemcpyDtoHAsync(traffic->small_out, traffic->small_device, TRAFFIC_SMALL, traffic->bulk));
    CODE(cuStreamIsCapturing(traffic->bulk, &status));
    printf("capturing: %d\n", status);
    CODE(cuStreamEndCapture(traffic->bulk, &graph));
    OK(cuStreamSynchronize(traffic->bulk));
    printf("nothing has run: %d\n", traffic->out[0] == 0 && traffic->small_out[TRAFFIC_SMALL - 1] == 0);
    look_at(graph, traffic);
}

/* Two streams in one capture; a third copies meanwhile, which the mode may or may not allow. */
static void forked_capture(Traffic *traffic, int mode)
{
    CUgraph graph = NULL;
    CUevent fork = NULL, join = NULL;
    Traffic other = new_traffic();
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(traffic->bulk, mode));
    CODE(cuEventRecord(fork, traffic->bulk));
    CODE(cuStreamWaitEvent(traffic->urgent, fork, 0));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    CODE(cuMemcpyHtoDAsync(traffic->small_device, traffic->small_in, TRAFFIC_SMALL, traffic->urgent));
    CODE(cuMemcpyHtoDAsync(other.device, other.in, TRAFFIC_BULK, other.bulk));
    CODE(cuMemcpyHtoDAsync(other.small_device, other.small_in, TRAFFIC_SMALL, other.urgent));
    CODE(cuEventRecord(join, traffic->urgent));
    CODE(cuStreamWaitEvent(traffic->bulk, join, 0));
    CODE(cuMemcpyDtoHAsync(traffic->out, traffic->device, TRAFFIC_BULK, traffic->bulk));
    CODE(cuStreamEndCapture(traffic->bulk, &graph));
    printf("graph: %d\n", graph != NULL);
    if (graph != NULL)
        look_at(graph, traffic);
    OK(cuCtxSynchronize());
    OK(cuEventDestroy(fork));
    OK(cuEventDestroy(join));
    free_traffic(&other);
}

typedef struct {
    CUcontext context;
    atomic_int captured;
    uint64_t sum;
} Beside;

/* A thread that has relaxed its own mode copies, pins and makes streams during the other's capture. */
static void *copy_beside(void *argument)
{
    Beside *beside = argument;
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(cuCtxSetCurrent(beside->context));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    Traffic traffic = new_traffic();
    beside->sum = run_traffic(&traffic, ROUNDS_THAT_ARM);
    free_traffic(&traffic);
    return NULL;
}

/* A capture that forbids unsafe calls to every thread survives all calls of the drop-in. */
static void global_capture_beside_copies(CUcontext context)
{
    pthread_t thread;
    CUgraph graph = NULL;
    Beside beside = {.context = context};
    CUstream stream = new_stream();
    unsigned char *pinned = new_pinned_bytes(MIB);
    CUdeviceptr device = new_device_bytes(MIB);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyHtoDAsync(device, pinned, MIB, stream));
    REQUIRE(pthread_create(&thread, NULL, copy_beside, &beside) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(cuMemcpyHtoDAsync(device, pinned, 64 * KIB, stream));
    CODE(cuStreamEndCapture(stream, &graph));
    printf("beside: %016llx, graph %d\n", (unsigned long long)beside.sum, graph != NULL);
    if (graph != NULL)
        OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(device));
}

/* A forbidden call breaks a capture, and the stream copies again afterwards. */
static void broken_capture(Traffic *traffic)
{
    CUgraph graph = NULL;
    OK(cuStreamBeginCapture(traffic->bulk, CU_STREAM_CAPTURE_MODE_RELAXED));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    CODE(cuStreamSynchronize(traffic->bulk));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    CODE(cuStreamEndCapture(traffic->bulk, &graph));
    printf("after: %016llx\n", (unsigned long long)traffic_round(traffic, 9));
}

/* The driver says whether a thread that captures may make a copy and wait for it. Where it may, the capture stays
 * sound. */
static void blocking_copies_beside(Traffic *traffic, int mode)
{
    CUgraph graph = NULL;
    Traffic other = new_traffic();
    OK(cuStreamBeginCapture(traffic->bulk, mode));
    send_traffic(&other);
    CODE(cuMemcpyHtoD(traffic->device, traffic->in, TRAFFIC_BULK));
    CUresult code = cuMemcpyDtoH(traffic->out, traffic->device, TRAFFIC_BULK);
    printf("copied beside: %u %016llx\n", code, code ? 0 : (unsigned long long)checksum(traffic->out, TRAFFIC_BULK));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    CODE(cuStreamEndCapture(traffic->bulk, &graph));
    if (graph != NULL)
        OK(cuGraphDestroy(graph));
    OK(cuCtxSynchronize());
    free_traffic(&other);
}

static void all_modes(Traffic *traffic)
{
    static const int modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                CU_STREAM_CAPTURE_MODE_RELAXED};
    for (int i = 0; i < 3; i++) {
        printf("mode %d\n", modes[i]);
        linear_capture(traffic, modes[i]);
        forked_capture(traffic, modes[i]);
        blocking_copies_beside(traffic, modes[i]);
    }
    broken_capture(traffic);
}

int main(void)
{
    CUcontext context = open_device();
    global_capture_beside_copies(context);
    Traffic traffic = new_traffic();
    all_modes(&traffic);
    free_traffic(&traffic);
    traffic = arm();
    all_modes(&traffic);
    global_capture_beside_copies(context);
    free_traffic(&traffic);
    close_device();
    return 0;
}
