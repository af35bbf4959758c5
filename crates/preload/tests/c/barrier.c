/* A program that handles faults in its own memory, which another thread causes while copies are under way: `write`, a
 * collector's write barrier on a target; `read`, pages of a source without any permission; `file`, a mapped file that
 * is cut short. The handler mends the page, and the copy goes on. Every fault has to come in the thread that copies. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"

enum { BYTES = 8 * MIB, PAGE = 4096, ROUNDS = 60, ROUNDS_MAX = 2000, LATEST_US = 4000 };
enum { ACCESS = PROT_READ | PROT_WRITE };

static unsigned char *pages;
static int file = -1;
static char mode;
static pthread_t copying;
static atomic_int faults, elsewhere, begun;

static void mend(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    unsigned char *page = (unsigned char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    if (page < pages || page >= pages + BYTES)
        _exit(77);
    if (pthread_equal(pthread_self(), copying))
        atomic_fetch_add(&faults, 1);
    else
        atomic_fetch_add(&elsewhere, 1);
    if (mode == 'f' && ftruncate(file, BYTES) != 0)
        _exit(78);
    if (mode != 'f')
        mprotect(page, PAGE, ACCESS);
}

/* Some time after each round has begun. */
static void *disturb(void *argument)
{
    (void)argument;
    uint64_t seed = 1;
    for (int before = 0, now; (now = atomic_load(&begun)) >= 0;) {
        if (now == before) {
            nap_us(20);
            continue;
        }
        before = now;
        seed = next_word(seed);
        nap_us((long)(seed >> 33) % LATEST_US);
        if (mode == 'f' && ftruncate(file, 0) != 0)
            _exit(80);
        if (mode != 'f')
            mprotect(pages, BYTES, mode == 'w' ? PROT_READ : PROT_NONE);
    }
    return NULL;
}

/* All pages may be read and written. */
static void make_whole(void)
{
    if (mode == 'f')
        REQUIRE(ftruncate(file, BYTES) == 0);
    else
        REQUIRE(mprotect(pages, BYTES, ACCESS) == 0);
}

static void copy_there_and_back(CUdeviceptr device, CUstream stream, int round)
{
    if (mode == 'w')
        OK(cuMemsetD8(device, (unsigned char)round, BYTES));
    else
        OK(cuMemcpyHtoDAsync(device, pages, BYTES, stream));
    OK(cuMemcpyDtoHAsync(pages, device, BYTES, stream));
    OK(cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    mode = argv[1][0];
    copying = pthread_self();
    setenv("OVERTAKE_STAGING_THREADS", "3", 0); /* staging needs four processors otherwise */
    open_device();
    CUstream stream = new_stream();
    CUdeviceptr device = new_device_bytes(BYTES);
    struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO | SA_NODEFER};
    REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
    if (mode == 'f') {
        file = memfd_create("cut", 0);
        REQUIRE(ftruncate(file, BYTES) == 0);
    }
    int kind = mode == 'f' ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    pages = mmap(NULL, BYTES, ACCESS, kind, file, 0);
    REQUIRE(pages != MAP_FAILED);
    for (int i = 0; i < 6; i++) { /* until there are threads that copy */
        memset(pages, i, BYTES);
        copy_there_and_back(device, stream, i);
        nap_us(20000);
    }
    pthread_t thread;
    int wrong = 0;
    REQUIRE(pthread_create(&thread, NULL, disturb, NULL) == 0);
    for (int i = 0; i < ROUNDS || (atomic_load(&faults) == 0 && i < ROUNDS_MAX); i++) {
        make_whole();
        atomic_fetch_add(&begun, 1);
        copy_there_and_back(device, stream, i);
        for (size_t at = 0; at < BYTES && mode == 'w'; at += PAGE)
            wrong += pages[at] != (unsigned char)i;
    }
    atomic_store(&begun, -1);
    REQUIRE(pthread_join(thread, NULL) == 0);
    printf("faults: %d, in other threads: %d, wrong: %d\n", atomic_load(&faults) > 0, atomic_load(&elsewhere), wrong);
    OK(cuMemFree(device));
    OK(cuStreamDestroy(stream));
    close_device();
    return 0;
}
