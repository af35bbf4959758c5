/* Stands in for a drop-in of the version ABI: a library with the one symbol, and a state that shows which functions
 * were called. */
#include "table.h"

static int stream_priority_now;

static int set_stream_priority(void *stream, int priority)
{
    (void)stream;
    if (priority == 13)
        return -1;
    stream_priority_now = priority;
    return 0;
}

static int stream_priority(void *stream, int *priority)
{
    (void)stream;
    *priority = stream_priority_now + 100;
    return 0;
}

static int priorities(void)
{
    return 23;
}

static const char *last_error(void)
{
    return "thirteen is no priority";
}

static const char *deployment(void)
{
    return "preload";
}

static struct table table = {
    .struct_size = sizeof(struct table),
    .abi = ABI,
    .set_stream_priority = set_stream_priority,
    .stream_priority = stream_priority,
    .priorities = priorities,
    .last_error = last_error,
    .deployment = deployment,
};

const struct table *overtake_shared(void);

const struct table *overtake_shared(void)
{
    return &table;
}
