/* On a machine without a driver every call returns an error that names the driver. With OVERTAKE=off only copies do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <overtake.h>

int main(void)
{
    char bytes[2][16] = {"0123456789abcde", ""};
    struct overtake_statistics sums = {sizeof sums, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int opened = overtake_open(NULL);
    int copied = overtake_memcpy_async(bytes[1], bytes[0], 16, OVERTAKE_COPY_DEFAULT, NULL, 5);
    int expected = getenv("OVERTAKE") == NULL ? OVERTAKE_ERROR_NO_DRIVER : OVERTAKE_OK;
    if (opened != expected || copied != OVERTAKE_ERROR_NO_DRIVER ||
        strstr(overtake_last_error(), "libcuda.so.1") == NULL) {
        fprintf(stderr, "opened %d, copied %d: %s\n", opened, copied, overtake_last_error());
        return 1;
    }
    if (overtake_close() != OVERTAKE_OK || overtake_push_priority(5) != OVERTAKE_OK ||
        overtake_pop_priority() != OVERTAKE_OK || overtake_read_statistics(&sums) != OVERTAKE_OK ||
        sums.urgent_copies != 0) {
        fprintf(stderr, "%s\n", overtake_last_error());
        return 1;
    }
    puts("ok");
    return 0;
}
