// How fast do several threads bring the bytes of a mapped file into memory of their own: by making the pages of the
// mapping present and copying them, or by reading the file past the mapping?
//
// gcc -O2 -Wall -pthread mapped_files.c -o mapped_files && ./mapped_files FOLDER...
//
// Each folder gets a file of 1.6 GB, which is removed again. The file stays in the page cache. A row has so many
// threads, which take pieces of the file in turn, each into the next of nine slots of its own; each figure is the
// median of three runs, with a new mapping each ("copy alone" has one whose pages are present).
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crew.h"

enum { SLOTS = 9, POPULATE_READ = 22 };
enum way { POPULATE_AND_COPY, COPY_ALONE, READ, POPULATE_ALONE, WAYS };
static const char *const names[WAYS] = {"populate and copy", "copy alone", "read", "populate alone"};
static const size_t file_bytes = (size_t)1600 << 20;

static enum way way;
static size_t piece_bytes;
static int file;
static char *map;

static void *memory(size_t bytes)
{
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    check(made != MAP_FAILED, "mmap");
    return made;
}

static void *bring(void *slots)
{
    size_t at, taken = 0;
    while ((at = atomic_fetch_add(&next, piece_bytes)) < file_bytes) {
        char *slot = (char *)slots + taken++ % SLOTS * piece_bytes;
        if (way == POPULATE_AND_COPY || way == POPULATE_ALONE)
            check(!madvise(map + at, piece_bytes, POPULATE_READ), "madvise");
        if (way == POPULATE_AND_COPY || way == COPY_ALONE)
            memcpy(slot, map + at, piece_bytes);
        if (way == READ)
            check(pread(file, slot, piece_bytes, (off_t)at) == (ssize_t)piece_bytes, "pread");
    }
    return NULL;
}

static double run_gbps(int threads)
{
    void *slots[THREADS_MAX];
    map = mmap(NULL, file_bytes, PROT_READ, MAP_SHARED, file, 0);
    check(map != MAP_FAILED, "mmap");
    if (way == COPY_ALONE)
        check(!madvise(map, file_bytes, POPULATE_READ), "madvise");
    for (int number = 0; number < threads; number++)
        slots[number] = memory(SLOTS * piece_bytes);
    double gbps = crew_gbps(threads, bring, slots, file_bytes);
    for (int number = 0; number < threads; number++)
        munmap(slots[number], SLOTS * piece_bytes);
    munmap(map, file_bytes);
    return gbps;
}

static void make_file(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/mapped_files.XXXXXX", folder);
    file = mkstemp(path);
    check(file >= 0, path);
    unlink(path);
    size_t part_bytes = 1 << 20;
    char *part = memory(part_bytes);
    memset(part, 7, part_bytes);
    for (size_t at = 0; at < file_bytes; at += part_bytes)
        check(write(file, part, part_bytes) == (ssize_t)part_bytes, "write");
    munmap(part, part_bytes);
}

int main(int count, char **folders)
{
    static const int threads[] = {1, 4, 8};
    for (int folder = 1; folder < count; folder++) {
        make_file(folders[folder]);
        for (int row = 0; row < 3; row++)
            for (piece_bytes = 256 << 10; piece_bytes <= 1 << 20; piece_bytes *= 2) {
                printf("%-12s %d threads, pieces of %4zu KiB, GB/s:", folders[folder], threads[row], piece_bytes >> 10);
                for (way = 0; way < WAYS; way++)
                    printf("  %s %5.1f", names[way], median_gbps(threads[row], run_gbps));
                printf("\n");
            }
        close(file);
    }
    return 0;
}
