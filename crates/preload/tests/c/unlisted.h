/* Values of the profile that only tests set. */
#ifndef UNLISTED_H
#define UNLISTED_H

#include "check.h"

/* Sets them for the drop-in, which reads them later. What is set already stays: the last of two counts. */
static inline void set_unlisted(const char *values)
{
    if (*values == 0)
        return;
    char all[4096];
    const char *set = getenv("OVERTAKE_UNLISTED");
    int length = snprintf(all, sizeof all, "%s,%s", values, set == NULL ? "" : set);
    REQUIRE(length > 0 && length < (int)sizeof all);
    REQUIRE(setenv("OVERTAKE_UNLISTED", all, 1) == 0);
}

#endif
