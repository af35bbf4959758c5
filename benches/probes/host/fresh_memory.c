// How fast do several threads write memory that no thread has touched: with pages made present by advice before, or by
// page faults, and with huge pages, where the system gives them to who asks?
//
// gcc -O2 -Wall -pthread fresh_memory.c -o fresh_memory && ./fresh_memory
//
// Threads take pieces of 512 MiB of fresh private memory in turn, and copy a slot of their own into each. Each figure
// is the median of three runs. "Written again" finds all pages present.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "crew.h"

enum { POPULATE_WRITE = 23 };
enum way { ADVICE, FAULTS, HUGE, AGAIN, WAYS };
static const char *const names[WAYS] = {"advice and copy", "copy with faults", "huge pages", "written again"};
static const size_t all_bytes = (size_t)512 << 20;

static enum way way;
static size_t piece_bytes;
static char *target;

static void *fill(void *slot)
{
    size_t at;
    while ((at = atomic_fetch_add(&next, piece_bytes)) < all_bytes) {
        if (way == ADVICE)
            check(!madvise(target + at, piece_bytes, POPULATE_WRITE), "madvise");
        memcpy(target + at, slot, piece_bytes);
    }
    return NULL;
}

static double run_gbps(int threads)
{
    void *slots[THREADS_MAX];
    target = mmap(NULL, all_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(target != MAP_FAILED, "mmap");
    if (way == HUGE)
        check(!madvise(target, all_bytes, MADV_HUGEPAGE), "madvise");
    if (way == AGAIN)
        check(!madvise(target, all_bytes, POPULATE_WRITE), "madvise");
    for (int number = 0; number < threads; number++) {
        slots[number] = malloc(piece_bytes);
        check(slots[number] != NULL, "malloc");
        memset(slots[number], 7, piece_bytes);
    }
    double gbps = crew_gbps(threads, fill, slots, all_bytes);
    for (int number = 0; number < threads; number++)
        free(slots[number]);
    munmap(target, all_bytes);
    return gbps;
}

int main(void)
{
    static const int threads[] = {1, 8, 16};
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("transparent huge pages: ");
    fflush(stdout);
    check(!system("cat /sys/kernel/mm/transparent_hugepage/enabled"), "cat");
    for (int row = 0; row < 3; row++)
        for (piece_bytes = 256 << 10; piece_bytes <= 4 << 20; piece_bytes *= 4) {
            printf("%d threads, pieces of %4zu KiB, GB/s:", threads[row], piece_bytes >> 10);
            for (way = 0; way < WAYS; way++)
                printf("  %s %5.1f", names[way], median_gbps(threads[row], run_gbps));
            printf("\n");
        }
    return 0;
}
