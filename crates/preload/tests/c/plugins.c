/* Loads the plugin in the ways that programs load plugins; the arguments are its path and the way. */
#define _GNU_SOURCE
#include "driver.h"

static void run_once(const char *path, int flags)
{
    void *plugin = dlopen(path, flags);
    if (plugin == NULL)
        fprintf(stderr, "%s\n", dlerror());
    REQUIRE(plugin != NULL);
    __typeof__(void (*)(void)) run = to_symbol(dlsym(plugin, "run_plugin"));
    REQUIRE(run != NULL);
    run();
    REQUIRE(dlclose(plugin) == 0);
}

static void reopen_the_driver(void)
{
    for (int i = 0; i < 20; i++) {
        void *library = open_driver();
        int count = -1;
        REQUIRE(FIND(library, cuInit)(0) == CUDA_SUCCESS);
        REQUIRE(FIND(library, cuDeviceGetCount)(&count) == CUDA_SUCCESS && count > 0);
        REQUIRE(dlclose(library) == 0);
    }
    printf("driver opened and closed\n");
}

int main(int count, char **arguments)
{
    REQUIRE(count == 3);
    const char *path = arguments[1], *way = arguments[2];
    if (strcmp(way, "local") == 0)
        run_once(path, RTLD_NOW | RTLD_LOCAL);
    else if (strcmp(way, "global") == 0)
        run_once(path, RTLD_LAZY | RTLD_GLOBAL);
    else if (strcmp(way, "deepbind") == 0)
        run_once(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    else if (strcmp(way, "again") == 0)
        for (int i = 0; i < 4; i++)
            run_once(path, RTLD_NOW | RTLD_LOCAL);
    else if (strcmp(way, "speaks") == 0) {
        REQUIRE(setenv("PLUGIN_SPEAKS", "1", 1) == 0);
        run_once(path, RTLD_NOW | RTLD_LOCAL);
    } else if (strcmp(way, "driver") == 0)
        reopen_the_driver();
    else
        REQUIRE(!"a known way");
    printf("done\n");
    return 0;
}
