/* Prints whether the kernel takes this program for privileged, and which driver the library loads. */
#include <stdio.h>
#include <sys/auxv.h>

#include <overtake.h>

int main(void)
{
    printf("%s\n", getauxval(AT_SECURE) ? "privileged" : "ordinary");
    fflush(stdout);
    (void)overtake_open(NULL);
    return 0;
}
