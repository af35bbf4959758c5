/* Computations whose order follows from their uses: one that is late, one that is cancelled, one that fails, and an
 * order by a token. The same program in C++, Rust and Python stands beside it; all four print arrays.txt. */
#include <cuda.h>
#include <overtake.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3, SHORT_MS = 20 };
typedef struct overtake_array Array;
typedef struct overtake_task Task;
typedef struct overtake_computation_spec Spec;
static struct overtake_arrays *arrays;
static char said[32];

static void check(int code)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s: %s\n", overtake_error_name(code), overtake_last_error());
    exit(1);
}

static int twice_of(void *const *at, void *data)
{
    const int *from = at[0];
    int *to = at[1];
    (void)data;
    for (int i = 0; i < COUNT; i++)
        to[i] = 2 * from[i];
    return 0;
}

static int add_up(void *const *at, void *data)
{
    const int *of = at[0];
    (void)data;
    *(int *)at[1] = of[0] + of[1] + of[2];
    return 0;
}

static int say(void *const *at, void *data)
{
    (void)at;
    strcat(strcat(said, " "), data);
    return 0;
}

static int nothing(void *const *at, void *data)
{
    (void)at, (void)data;
    return 0;
}

static int fail(void *const *at, void *data)
{
    (void)at;
    overtake_set_last_error(data);
    return 1;
}

static Array *ints(size_t count)
{
    Array *array;
    check(overtake_array_new(arrays, count, sizeof(int), &array));
    return array;
}

/* A computation that reads one array, if there is one, and uses another. */
static Task *run(Spec spec, Array *from, Array *other, int mode)
{
    Task *task;
    struct overtake_argument uses[2] = {{.array = from, .mode = OVERTAKE_USE_READ}, {.array = other, .mode = mode}};
    spec.struct_size = sizeof spec;
    spec.arguments = from != NULL ? uses : uses + 1, spec.arguments_count = from != NULL ? 2 : 1;
    check(overtake_compute(arrays, &spec, &task));
    return task;
}

/* Opens an access to the single element, or to the first one. */
static int *open_int(Array *array, int mode, struct overtake_access **access)
{
    void *memory;
    struct overtake_access_spec spec = {.struct_size = sizeof spec, .mode = mode};
    return overtake_array_open(array, &spec, &memory, access) == 0 ? memory : NULL;
}

static void tell(const char *name, Task *task)
{
    printf("%s: %s\n", name, overtake_task_wait(task) == 0 ? "it has ended" : overtake_last_error());
}

int main(void)
{
    CUcontext context;
    struct overtake_dispatcher *dispatcher;
    struct overtake_access *access;
    Array *token;
    int *elements, is_done, is_cancelled;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    check(overtake_dispatcher_open(NULL, &dispatcher));
    check(overtake_arrays_open(dispatcher, NULL, &arrays));
    Array *numbers = ints(COUNT), *twice = ints(COUNT), *sum = ints(1), *table = ints(1);
    elements = open_int(numbers, OVERTAKE_USE_DISCARD, &access);
    for (int i = 0; i < COUNT; i++)
        elements[i] = i + 1;
    check(overtake_access_close(access));

    run((Spec){.name = "double", .run = twice_of}, numbers, twice, OVERTAKE_USE_DISCARD);
    run((Spec){.name = "add up", .run = add_up}, twice, sum, OVERTAKE_USE_DISCARD);
    printf("order: the sum is %d\n", *open_int(sum, OVERTAKE_USE_READ, &access));
    check(overtake_access_close(access));

    Task *held = run((Spec){.name = "held", .run = nothing, .references = 1}, NULL, twice, OVERTAKE_USE_DISCARD);
    Task *behind = run((Spec){.name = "behind", .run = nothing}, NULL, twice, OVERTAKE_USE_READ);
    check(overtake_arrays_wait_for(arrays, SHORT_MS * INT64_C(1000000), &is_done));
    if (!is_done)
        printf("held: the set has not ended within %d ms\n", SHORT_MS);
    check(overtake_task_cancel(behind, &is_cancelled));
    if (is_cancelled) /* it had not started */
        tell("behind", behind);
    check(overtake_task_release(held));
    tell("held", held);

    check(overtake_token_new(arrays, &token));
    run((Spec){.name = "first", .run = say, .data = "first"}, NULL, token, OVERTAKE_USE_WRITE);
    run((Spec){.name = "second", .run = say, .data = "second"}, NULL, token, OVERTAKE_USE_WRITE);
    check(overtake_arrays_wait(arrays));
    printf("token:%s\n", said);

    tell("parse", run((Spec){.name = "parse", .run = fail, .data = "the file is empty"}, NULL, table,
                      OVERTAKE_USE_DISCARD));
    if (open_int(table, OVERTAKE_USE_READ, &access) == NULL)
        printf("table: %s\n", overtake_last_error()); /* its contents are lost */
    *open_int(table, OVERTAKE_USE_DISCARD, &access) = 5;
    check(overtake_access_close(access));
    printf("table: it is %d now\n", *open_int(table, OVERTAKE_USE_READ, &access));
    check(overtake_access_close(access));
    check(overtake_arrays_close(arrays));
    return overtake_dispatcher_close(dispatcher);
}
