/* Finds the driver as programs do that are not linked with it. */
#ifndef DLOPENED_H
#define DLOPENED_H

#include <dlfcn.h>

#include "check.h"

typedef void (*Symbol)(void);

static inline void *open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    REQUIRE(library != NULL);
    return library;
}

/* ISO C has no cast from a data pointer to a function pointer; POSIX promises that the representation is the same. */
static inline Symbol to_symbol(void *address)
{
    Symbol symbol = NULL;
    memcpy(&symbol, &address, sizeof symbol);
    return symbol;
}

/* `name` is in the manual's spelling: the header's mapping to the exported symbol is applied before it is quoted. */
#define FIND(library, name) FIND_SYMBOL(library, name)
#define FIND_SYMBOL(library, symbol) ((__typeof__(&symbol))to_symbol(dlsym(library, #symbol)))

#endif
