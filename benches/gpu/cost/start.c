/* A program that opens the driver and ends, to measure the cost of a process start. */
#include <dlfcn.h>

int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    unsigned (*open_driver)(unsigned) = library ? (unsigned (*)(unsigned))dlsym(library, "cuInit") : 0;
    return open_driver && open_driver(0) == 0 ? 0 : 1;
}
