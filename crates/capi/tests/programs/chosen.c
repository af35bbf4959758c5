/* A library that another user chooses. Its initialiser prints a line, so a test sees that it was loaded. */
#include <stdio.h>

__attribute__((constructor)) static void chosen(void)
{
    puts("chosen library loaded");
}
