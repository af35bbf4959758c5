/* A thread's output: a line for each call with its result, kept until all threads have ended, so that it does not
 * depend on the order of the threads. */
#ifndef LOG_H
#define LOG_H

#include <stdarg.h>

#include "../client.h"

enum { LOG_BYTES = 1 << 18 };

typedef struct {
    size_t end;
    int is_loud; /* prints each line at once, too: for a program that hangs or dies */
    char text[LOG_BYTES];
} Log;

__attribute__((format(printf, 2, 3))) static inline void note(Log *log, const char *form, ...)
{
    va_list values;
    size_t left = LOG_BYTES - log->end;
    va_start(values, form);
    int length = vsnprintf(log->text + log->end, left, form, values);
    va_end(values);
    REQUIRE(length >= 0 && (size_t)length < left);
    if (log->is_loud) {
        fputs(log->text + log->end, stdout);
        fflush(stdout);
    }
    log->end += (size_t)length;
}

static inline CUresult noted(Log *log, const char *call, CUresult code)
{
    note(log, " %.*s %u\n", (int)strcspn(call, "("), call, code);
    return code;
}

#endif
