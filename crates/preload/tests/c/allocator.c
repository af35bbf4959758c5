/* An allocator in the place of glibc's, as jemalloc and tcmalloc are. It knows its blocks by a mark, looks the next
 * `pthread_create` up as jemalloc does, and says at the end whether it was given a block that is not its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IN_USE = 0x6f7665, FREED = 0x66726565, LEAST = 16 };
static const size_t SPAN = (size_t)4 << 30;

typedef struct {
    size_t bytes;
    atomic_size_t mark;
} Head;

typedef int (*Creates)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static _Atomic uintptr_t next;
static atomic_int foreign, threads;

/* Blocks stand one behind the other, and none is used twice. */
static void *made(size_t alignment, size_t bytes)
{
    uintptr_t start = atomic_load(&next), none = 0;
    if (start == 0) {
        void *span = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (span == MAP_FAILED)
            return NULL;
        if (!atomic_compare_exchange_strong(&next, &none, (uintptr_t)span))
            munmap(span, SPAN);
    }
    if (alignment < LEAST)
        alignment = LEAST;
    start = atomic_fetch_add(&next, bytes + sizeof(Head) + alignment);
    Head *head = (Head *)((start + sizeof(Head) + alignment - 1) / alignment * alignment) - 1;
    head->bytes = bytes;
    atomic_store(&head->mark, IN_USE);
    return head + 1;
}

static Head *head_of(void *block)
{
    return (Head *)block - 1;
}

void *malloc(size_t bytes)
{
    return made(LEAST, bytes);
}

void free(void *block)
{
    if (block != NULL && atomic_exchange(&head_of(block)->mark, FREED) != IN_USE)
        atomic_fetch_add(&foreign, 1);
}

void *calloc(size_t count, size_t each)
{
    size_t bytes = 0;
    return __builtin_mul_overflow(count, each, &bytes) ? NULL : made(LEAST, bytes); /* fresh pages are zero */
}

void *realloc(void *block, size_t bytes)
{
    void *grown = made(LEAST, bytes);
    if (block != NULL && grown != NULL) {
        size_t before = head_of(block)->bytes;
        memcpy(grown, block, before < bytes ? before : bytes);
        free(block);
    }
    return grown;
}

void *memalign(size_t alignment, size_t bytes)
{
    return made(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return made(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = made(alignment, bytes);
    return *block == NULL ? ENOMEM : 0;
}

size_t malloc_usable_size(void *block)
{
    return block == NULL ? 0 : head_of(block)->bytes;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    static _Atomic(Creates) real;
    if (atomic_load(&real) == NULL) {
        void *found = dlsym(RTLD_NEXT, "pthread_create");
        Creates function = NULL;
        memcpy(&function, &found, sizeof function);
        atomic_store(&real, function);
    }
    atomic_fetch_add(&threads, 1);
    return atomic_load(&real)(thread, attributes, start, argument);
}

__attribute__((destructor)) static void tell(void)
{
    const char *said = atomic_load(&foreign) != 0    ? "allocator: a block of another's\n"
                       : atomic_load(&threads) == 0 ? "allocator: no thread\n"
                                                    : "allocator: all its own\n";
    if (write(STDOUT_FILENO, said, strlen(said)) < 0)
        _exit(70);
}
