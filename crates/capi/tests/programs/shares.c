/* Prints whether the drop-in of this process or the library itself does the work. */
#include <stdio.h>
#include <string.h>

#include <overtake.h>

int main(void)
{
    int priority = -1;
    printf("%s %d\n", overtake_deployment(), overtake_priorities());
    if (strcmp(overtake_deployment(), "preload") == 0) {
        int set = overtake_set_stream_priority(NULL, 4);
        int read = overtake_stream_priority(NULL, &priority);
        int refused = overtake_set_stream_priority(NULL, 13);
        printf("%d %d %d %d %s\n", set, read, priority, refused, overtake_last_error());
    }
    return 0;
}
