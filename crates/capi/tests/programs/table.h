/* The table of functions of a drop-in: crates/shim/src/table.rs in C. */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table {
    uint32_t struct_size, abi;
    int (*open)(const char *);
    int (*close)(void);
    int (*set_stream_priority)(void *, int);
    int (*stream_priority)(void *, int *);
    int (*swap_thread_priority)(int, int *);
    int (*priorities)(void);
    int (*copy_async)(void *, const void *, size_t, int, void *, int);
    int (*copy_2d_async)(void *, size_t, const void *, size_t, size_t, size_t, int, void *, int);
    int (*copy_batch_async)(void *const *, const void *const *, const size_t *, size_t, void *, int);
    int (*set_rules)(const char *);
    int (*report)(char *, size_t, size_t *);
    int (*totals)(void *);
    const char *(*last_error)(void);
    const char *(*deployment)(void);
    int (*set_log_callback)(void (*)(void *, int, const char *), void *);
};

#endif
