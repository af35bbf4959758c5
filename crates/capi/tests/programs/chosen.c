/* A library that another user chooses: loading it is enough. */
#include <stdio.h>

__attribute__((constructor)) static void chosen(void)
{
    puts("chosen library loaded");
}
