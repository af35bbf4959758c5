/* cuGetProcAddress in both ABIs: versions, flags, absent names, and the order of the CUDA runtime's requests. */
#include "dlopened.h"

static __typeof__(&cuGetProcAddress_v2) ask;
static __typeof__(&cuGetProcAddress) ask_v1;
static void *library;

/* The program's own symbol of that name must not end up in the driver's answers. */
CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    (void)pointer;
    return CUDA_ERROR_UNKNOWN;
}

static void found(const char *name, int version, cuuint64_t flags, const char *symbol)
{
    void *first = NULL, *second = NULL;
    int status = 99;
    OK(ask(name, &first, version, flags, &status));
    REQUIRE(first != NULL && first == dlsym(library, symbol));
    REQUIRE(status == CU_GET_PROC_ADDRESS_SUCCESS);
    OK(ask(name, &second, version, flags, NULL));
    REQUIRE(second == first);
    OK(ask_v1(name, &second, version, flags));
    REQUIRE(second == first);
}

/* Absence is a success with a null pointer in the newer ABI, an error that leaves the output alone in the older. */
static void absent(const char *name, int version, cuuint64_t flags, int want)
{
    void *function = (void *)UNTOUCHED;
    int status = 99;
    OK(ask(name, &function, version, flags, &status));
    REQUIRE(function == NULL && status == want);
    function = (void *)UNTOUCHED;
    OK(ask(name, &function, version, flags, NULL));
    REQUIRE(function == NULL);
    function = (void *)UNTOUCHED;
    EXPECT(CUDA_ERROR_NOT_FOUND, ask_v1(name, &function, version, flags));
    REQUIRE(function == (void *)UNTOUCHED);
}

static void versions(void)
{
    found("cuInit", 2000, 0, "cuInit");
    found("cuInit", 13000, 0, "cuInit");
    found("cuMemFree", 3020, 0, "cuMemFree_v2");
    found("cuMemcpyHtoDAsync", 3020, 0, "cuMemcpyHtoDAsync_v2");
    found("cuMemcpyHtoDAsync", 12040, 0, "cuMemcpyHtoDAsync_v2");
    found("cuMemcpyBatchAsync", 12080, 0, "cuMemcpyBatchAsync");
    found("cuMemcpyBatchAsync", 12090, 0, "cuMemcpyBatchAsync");
    found("cuMemcpyBatchAsync", 13000, 0, "cuMemcpyBatchAsync_v2");
    found("cuStreamWaitValue32", 11060, 0, "cuStreamWaitValue32");
    found("cuStreamWaitValue32", 11070, 0, "cuStreamWaitValue32_v2");
    found("cuCtxCreate", 11000, 0, "cuCtxCreate_v2");
    absent("cuMemcpyBatchAsync", 12070, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    absent("cuInit", 1000, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    absent("cuInit", 0, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    absent("cuMemAllocAsync", 11010, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    absent("cuNoSuchFunction", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    absent("cuMemAlloc_v2", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND); /* base names only */
}

static void flags(void)
{
    found("cuMemcpyHtoDAsync", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, "cuMemcpyHtoDAsync_v2");
    found("cuMemcpyHtoDAsync", 13000, CU_GET_PROC_ADDRESS_PER_THREAD, "cuMemcpyHtoDAsync_v2_ptsz");
    found("cuMemcpyHtoD", 13000, CU_GET_PROC_ADDRESS_PER_THREAD, "cuMemcpyHtoD_v2_ptds");
    found("cuMemcpyBatchAsync", 12080, CU_GET_PROC_ADDRESS_PER_THREAD, "cuMemcpyBatchAsync_ptsz");
    found("cuMemcpyBatchAsync", 13000, CU_GET_PROC_ADDRESS_PER_THREAD, "cuMemcpyBatchAsync_v2_ptsz");
    found("cuMemFree", 13000, CU_GET_PROC_ADDRESS_PER_THREAD, "cuMemFree_v2");
    found("cuInit", 2000, CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD, "cuInit");
    /* The plain variant is older, but it does not replace the requested one. */
    absent("cuMemcpyHtoDAsync", 6000, CU_GET_PROC_ADDRESS_PER_THREAD, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

/* The first requests of libcudart: an empty name, then the function itself at the version of each ABI. */
static void as_the_runtime_asks(void)
{
    void *function = NULL;
    absent("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    OK(ask("cuGetProcAddress", &function, 11030, 0, NULL));
    REQUIRE(function == dlsym(library, "cuGetProcAddress"));
    OK(ask("cuGetProcAddress", &function, 12000, 0, NULL));
    REQUIRE(function == dlsym(library, "cuGetProcAddress_v2"));
}

static void refusals(void)
{
    void *function = (void *)UNTOUCHED;
    int status = 99;
    EXPECT(CUDA_ERROR_INVALID_VALUE, ask("cuInit", &function, 13000, 64, &status));
    EXPECT(CUDA_ERROR_INVALID_VALUE, ask("cuInit", &function, 1000000, 0, &status)); /* newer than the driver */
    REQUIRE(function == (void *)UNTOUCHED && status == 99);
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, ask(NULL, &function, 13000, 0, &status));
    EXPECT(CUDA_ERROR_INVALID_VALUE, ask("cuInit", NULL, 13000, 0, &status));
#endif
}

/* The pointers work, and the two flavours of one function are two functions. */
static void calls_through_the_pointers(void)
{
    void *function = NULL;
    CUcontext context = NULL;
    int status = 99;
    OK(ask("cuInit", &function, 2000, 0, &status));
    OK(((__typeof__(&cuInit))to_symbol(function))(0));
    OK(ask("cuDevicePrimaryCtxRetain", &function, 7000, 0, &status));
    OK(((__typeof__(&cuDevicePrimaryCtxRetain))to_symbol(function))(&context, 0));
    REQUIRE(context != NULL);
    OK(ask("cuDevicePrimaryCtxRelease", &function, 11000, 0, &status));
    OK(((__typeof__(&cuDevicePrimaryCtxRelease_v2))to_symbol(function))(0));
}

int main(void)
{
    library = open_driver();
    ask = FIND(library, cuGetProcAddress_v2);
    ask_v1 = FIND(library, cuGetProcAddress);
    REQUIRE(ask != NULL && ask_v1 != NULL);
    as_the_runtime_asks();
    versions();
    flags();
    refusals();
    calls_through_the_pointers();
    return 0;
}
