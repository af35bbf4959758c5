/* How long the driver takes to load an image (PTX, or a cubin of it): milliseconds of the first load of this process,
   and of a second one. Usage: load IMAGE */
#include "../found.h"

static char image[1 << 22];

int main(int count, char **arguments)
{
    CUcontext context;
    CUmodule module;
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (file == NULL || fread(image, 1, sizeof image - 1, file) == 0) {
        fprintf(stderr, "usage: load IMAGE\n");
        return 64;
    }
    ok(FUNCTION(cuInit)(0), "cuInit");
    ok(FUNCTION(cuDevicePrimaryCtxRetain)(&context, 0), "cuDevicePrimaryCtxRetain");
    ok(FUNCTION(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
    for (int load = 0; load < 2; load++) {
        double began_ns = now_ns();
        ok(FUNCTION(cuModuleLoadData)(&module, image), "cuModuleLoadData");
        printf("%s %.3f ms", load == 0 ? arguments[1] : ", again", (now_ns() - began_ns) / 1e6);
    }
    printf("\n");
    return 0;
}
