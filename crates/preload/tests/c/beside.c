/* Runs a program with another library preloaded, before the drop-in or behind it: the library, the place, and the
 * program with its arguments. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    char list[4096];
    const char *others = getenv("LD_PRELOAD");
    if (count < 4)
        return 64;
    if (others == NULL)
        snprintf(list, sizeof list, "%s", arguments[1]);
    else if (strcmp(arguments[2], "before") == 0)
        snprintf(list, sizeof list, "%s:%s", arguments[1], others);
    else
        snprintf(list, sizeof list, "%s:%s", others, arguments[1]);
    setenv("LD_PRELOAD", list, 1);
    execv(arguments[3], arguments + 3);
    return 127;
}
