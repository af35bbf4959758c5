/* The ends of exits.h; the argument chooses one. The end must be the native one. */
#define _GNU_SOURCE
#include "exits.h"

int main(int count, char **arguments)
{
    REQUIRE(count == 2);
    if (strcmp(arguments[1], "untouched") == 0)
        return 11;
    context = open_device();
    traffic = arm();
    fflush(stdout);
    send_traffic(&traffic);
    leave(arguments[1]);
    return 0;
}
