/* The end of a process after its programs: in a way of exits.h or of this list, most of them with work under way. */
#ifndef ENDS_H
#define ENDS_H

#include <sys/wait.h>

#include "../exits.h"

static inline void released(void)
{
    CODE(cuDevicePrimaryCtxRelease(0));
    CODE(cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, NULL));
}

static inline void reset(void)
{
    CUresult code = cuDevicePrimaryCtxReset(0);
    printf("reset: %u\n", code);
    if (code == CUDA_SUCCESS)
        CODE(cuCtxSynchronize());
}

static inline void destroyed(void)
{
    CUcontext mine = NULL;
    OK(cuCtxCreate_v2(&mine, 0, 0));
    Traffic other = new_traffic();
    send_traffic(&other);
    CODE(cuCtxDestroy(mine));
}

/* A kernel writes to unmapped memory: every later call returns that error. */
static inline void sticky(void)
{
    CUdeviceptr nowhere = 4096;
    uint32_t value = 1;
    CUmodule module = NULL;
    CUfunction store = NULL;
    OK(cuModuleLoadData(&module, kernels_text()));
    OK(cuModuleGetFunction(&store, module, "soft_store_u32"));
    OK(cuCtxSynchronize());
    /* Where launches wait for their kernels, this one returns the error. */
    CODE(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, traffic.bulk, (void *[]){&nowhere, &value}, NULL));
    CODE(cuStreamSynchronize(traffic.bulk));
    CODE(cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, traffic.bulk));
    CODE(cuMemcpyDtoHAsync(traffic.small_out, traffic.small_device, TRAFFIC_SMALL, traffic.urgent));
    CODE(cuMemcpyHtoD(traffic.device, traffic.in, TRAFFIC_BULK));
    CODE(cuCtxSynchronize());
}

/* A child has no CUDA, and ends without hurting its parent. */
static inline void child(void)
{
    int status = -1;
    fflush(stdout);
    pid_t born = fork();
    if (born == 0) {
        CODE(cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, traffic.bulk));
        CODE(cuStreamSynchronize(traffic.bulk));
        CODE(cuInit(0));
        exit(3);
    }
    REQUIRE(waitpid(born, &status, 0) == born);
    printf("child: %d\n", WEXITSTATUS(status));
    OK(cuCtxSynchronize());
    printf("parent: %016llx\n", (unsigned long long)traffic_round(&traffic, 7));
}

static const struct {
    const char *name;
    void (*make)(void);
} ends[] = {
    {"released", released}, {"reset", reset}, {"destroyed", destroyed}, {"sticky", sticky}, {"child", child},
    {"return", NULL},       {"closed", NULL}, {"exit", NULL},           {"_exit", NULL},    {"quick_exit", NULL},
    {"atexit", NULL},       {"thread", NULL}, {"others", NULL},         {"abort", NULL},    {"pthread_exit", NULL},
    {"kill", NULL},         {"segv", NULL},   {"term", NULL},           {"destructor", NULL},
};
enum { ENDS = sizeof ends / sizeof *ends };

/* Two rounds arm the layer; then much is under way. */
static inline void end_with(const char *name)
{
    context = open_device();
    traffic = new_traffic();
    printf("end %s: %016llx\n", name, (unsigned long long)run_traffic(&traffic, 2));
    fflush(stdout);
    send_traffic(&traffic);
    for (int i = 0; i < ENDS; i++)
        if (strcmp(ends[i].name, name) == 0 && ends[i].make != NULL) {
            ends[i].make();
            fflush(stdout);
            return;
        }
    leave(name);
}

#endif
