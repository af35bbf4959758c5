/* A library that somebody else chooses: loading it is all that it needs. */
#include <stdio.h>

__attribute__((constructor)) static void chosen(void)
{
    puts("chosen library loaded");
}
