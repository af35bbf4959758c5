/* The program's own function gets the layer's messages until it is taken away again. Standard error stays empty as
 * long. The environment has an option with a fault. */
#include <stdatomic.h>
#include <time.h>

#include "expect.h"

static atomic_int heard;
static int is_ours = 41;

static void listen(void *data, int level, const char *text)
{
    if (*(int *)data == 41 && level == OVERTAKE_LOG_WARNING && strstr(text, "teleport") != NULL)
        heard++;
}

int main(void)
{
    OK(overtake_set_log_callback(listen, &is_ours));
    open_device();
    OK(overtake_open(NULL));
    for (int naps = 0; heard == 0 && naps < 20000; naps++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    OK(overtake_set_log_callback(NULL, NULL));
    REQUIRE(heard == 1);
    puts("ok");
    return 0;
}
