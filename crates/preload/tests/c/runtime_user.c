/* A program that has the runtime look-alike as a shared library, bound to itself as libcudart.so is. */
#include "check.h"

void run_runtime_alike(const char *path, unsigned int runtime);

int main(int count, char **arguments)
{
    REQUIRE(count == 3);
    run_runtime_alike(arguments[1], (unsigned int)atoi(arguments[2]));
    return 0;
}
