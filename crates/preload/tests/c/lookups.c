/* Every way to ask for a symbol, at versions and flags on both sides of every border: codes, statuses, and which export
 * the answer is. Asked before cuInit and after. */
#define _GNU_SOURCE
#include "driver.h"

static void *library;

static const char *const names[] = {
    "cuInit",          "cuMemcpy",           "cuMemcpyAsync",      "cuMemcpyHtoD",      "cuMemcpyHtoDAsync",
    "cuMemcpyDtoH",    "cuMemcpyDtoHAsync",  "cuMemcpyDtoD",       "cuMemcpyDtoDAsync", "cuMemcpy2D",
    "cuMemcpy2DAsync", "cuMemcpy2DUnaligned", "cuMemcpy3D",        "cuMemcpy3DAsync",   "cuMemcpyPeer",
    "cuMemcpyPeerAsync", "cuMemcpyBatchAsync", "cuMemcpyHtoA",     "cuMemcpyAtoH",      "cuMemsetD8",
    "cuMemsetD32Async", "cuMemPrefetchAsync", "cuStreamCreate",    "cuStreamDestroy",   "cuStreamWaitEvent",
    "cuEventRecord",   "cuStreamBeginCapture", "cuStreamEndCapture", "cuMemHostAlloc",  "cuMemHostRegister",
    "cuMemFreeHost",   "cuMemFreeAsync",     "cuCtxDestroy",       "cuDevicePrimaryCtxRelease", "cuGetProcAddress",
    "",                "cuNoSuchFunction",   "cuMemcpyHtoD_v2",    "cuMemcpyHtoD_v2_ptds", "cumemcpy",
};
static const int versions[] = {0, 2000, 3010, 3020, 4000, 7000, 8000, 11030, 12000, 12020, 12070, 12080, 12090, 13000,
                               999999};
static const cuuint64_t flags[] = {0, 1, 2, 3, 4, 64};
static const char *const suffixes[] = {"", "_v2", "_v3", "_ptds", "_ptsz", "_v2_ptds", "_v2_ptsz", "_v3_ptsz"};

/* The suffix of the export that the address is, or whether it is none of them. */
static const char *export_of(const char *name, void *address)
{
    char symbol[120];
    if (address == NULL)
        return "null";
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(symbol, sizeof symbol, "%s%s", name, suffixes[i]);
        if (*name != 0 && dlsym(library, symbol) == address)
            return suffixes[i];
    }
    return "another";
}

static void ask_everything(void)
{
    __typeof__(&cuGetProcAddress_v2) ask = FIND(library, cuGetProcAddress_v2);
    __typeof__(&cuGetProcAddress) ask_old = FIND(library, cuGetProcAddress);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
            for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
                void *first = NULL, *second = NULL, *third = NULL;
                int status = 99;
                CUresult code = ask(names[n], &first, versions[v], flags[f], &status);
                CUresult again = ask(names[n], &second, versions[v], flags[f], NULL);
                CUresult old = ask_old(names[n], &third, versions[v], flags[f]);
                printf("%s %d %u: %u %d %s; %u %s; %u %s\n", names[n], versions[v], (unsigned int)flags[f], code,
                       status, export_of(names[n], first), again, export_of(names[n], second), old,
                       export_of(names[n], third));
            }
}

/* Names that only look like the driver's. The program has one of them itself, and must get its own. */
int cuddle(void);
int cuddle(void)
{
    return 7;
}

CUresult cublasCreate_v2(void);
CUresult cublasCreate_v2(void)
{
    return 8;
}

static void other_names(void)
{
    static const char *const others[] = {"cuddle", "cublasCreate_v2", "cudaMalloc", "cudnnCreate", "cuMemcpyHtoD_v9",
                                         "cuda", "cu", "", "overtake_shared_", "rust_eh_personality"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        printf("[%s] in the driver %d, anywhere %d\n", others[i], dlsym(library, others[i]) != NULL,
               dlsym(RTLD_DEFAULT, others[i]) != NULL);
    REQUIRE(dlsym(RTLD_DEFAULT, "cuddle") == (void *)(uintptr_t)&cuddle);
    REQUIRE(dlsym(RTLD_DEFAULT, "cublasCreate_v2") == (void *)(uintptr_t)&cublasCreate_v2);
    REQUIRE(dlsym(library, "cuMemcpyHtoD_v2") == dlsym(library, "cuMemcpyHtoD_v2"));
    dlerror();
    printf("%s\n", dlsym(library, "cuNoSuchFunction") == NULL && dlerror() != NULL ? "an error is left" : "no error");
    dlsym(library, "cuMemcpyHtoD_v2");
    printf("%s\n", dlerror() == NULL ? "no error is left" : "an error");
}

/* Whatever looks functions up while the driver works leaves no message: the program has looked nothing up. */
static void other_lookups(void)
{
    CUcontext context = NULL;
    CUmodule module = NULL;
    OK(FIND(library, cuDevicePrimaryCtxRetain)(&context, 0));
    OK(FIND(library, cuCtxSetCurrent)(context));
    __typeof__(&cuModuleLoadData) load = FIND(library, cuModuleLoadData);
    dlerror();
    OK(load(&module, kernels_text()));
    printf("%s\n", dlerror() == NULL ? "no error is left" : "an error");
}

int main(void)
{
    /* The kernels of a module are looked up by functions that some drivers lack. */
    REQUIRE(setenv("OVERTAKE_LOAD_AHEAD_KERNELS_MAX", "512", 1) == 0);
    library = open_driver();
    ask_everything();
    other_names();
    printf("init %u\n", FIND(library, cuInit)(0));
    ask_everything();
    other_names();
    other_lookups();
    return 0;
}
