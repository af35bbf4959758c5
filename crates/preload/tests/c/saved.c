/* Copies of two urgencies, in memory that a library takes away and gives back between them, if one is preloaded that
 * does. */
#define _GNU_SOURCE
#include "driver.h"

typedef int (*Change)(void);

static Change change(const char *name)
{
    Change function = NULL;
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(&function, &found, sizeof function);
    return function;
}

int main(void)
{
    Change pause = change("saver_pause"), resume = change("saver_resume");
    printf("saver: %d\n", pause != NULL && resume != NULL);
    open_device();
    Traffic traffic = arm();
    for (int round = 0; round < 3; round++) {
        if (pause != NULL && resume != NULL) {
            int paused = pause();
            printf("allocations: %d, %d\n", paused, resume());
        }
        printf("round: %016llx\n", (unsigned long long)run_traffic(&traffic, 5));
    }
    free_traffic(&traffic);
    close_device();
    return 0;
}
