/* A stand-in for libcudart: it looks up all its functions before cuInit, in the recorded order, then copies through
 * those pointers alone, once for each default stream. The arguments are the list and the runtime's bit. */
#define _GNU_SOURCE
#include "scenario.h"

enum { ROWS_MAX = 600, NAME_MAX_BYTES = 80 };

typedef struct {
    char name[NAME_MAX_BYTES];
    int version;
    unsigned long long flags;
    void *address;
} Row;

static Row listed[ROWS_MAX];
static size_t listed_count;
static void *driver_library;
static unsigned long long flags_wanted;

/* A line is symbol,version,flags,runtimes: the rows that this runtime asks for are kept. */
static void read_rows(const char *path, unsigned int runtime)
{
    char line[160];
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        Row row;
        unsigned int runtimes = 0;
        char *comma = strchr(line, ',');
        if (*line == '#')
            continue;
        REQUIRE(comma != NULL && comma - line < NAME_MAX_BYTES && listed_count < ROWS_MAX);
        memset(&row, 0, sizeof row);
        memcpy(row.name, line, (size_t)(comma - line));
        REQUIRE(sscanf(comma, ",%d,%llu,%u", &row.version, &row.flags, &runtimes) == 3);
        if (runtimes & runtime)
            listed[listed_count++] = row;
    }
    REQUIRE(fclose(file) == 0 && listed_count > 0);
}

/* The results and the presence of all pointers are compared, but not the addresses. */
static void look_everything_up(void *library)
{
    __typeof__(&cuGetProcAddress_v2) ask = FIND(library, cuGetProcAddress_v2);
    __typeof__(&cuGetProcAddress) ask_old = FIND(library, cuGetProcAddress);
    printf("cuDriverGetVersion: %d\n", dlsym(library, "cuDriverGetVersion") != NULL);
    for (size_t i = 0; i < listed_count; i++) {
        Row *row = &listed[i];
        void *second = NULL;
        int status = 99;
        CUresult code = ask(row->name, &row->address, row->version, row->flags, &status);
        CUresult old = ask_old(row->name, &second, row->version, row->flags);
        printf("%s,%d,%llu: %u %d %d old %u %d\n", row->name, row->version, row->flags, code, status,
               row->address != NULL, old, second == row->address);
    }
}

static const char *const batch_call = "cuMemcpyBatchAsync";

/* Uses only rows of the list, and functions that the runtime never looks up. A prototype of the batch call is used at
 * its own version alone. */
static void *find_listed(const char *base, const char *symbol, int version)
{
    int is_batch = strcmp(base, batch_call) == 0;
    void *found = NULL, *plain = NULL;
    for (size_t i = 0; i < listed_count; i++)
        if (strcmp(listed[i].name, base) == 0 && (!is_batch || listed[i].version == version)) {
            if (listed[i].flags == flags_wanted)
                found = listed[i].address;
            if (listed[i].flags == 0)
                plain = listed[i].address;
        }
    if (found != NULL || is_batch)
        return found;
    return plain != NULL ? plain : dlsym(driver_library, symbol);
}

#ifdef AS_LIBRARY
void run_runtime_alike(const char *path, unsigned int runtime);
#define MAIN void run_runtime_alike(const char *path, unsigned int runtime)
#else
#define MAIN static void run_runtime_alike(const char *path, unsigned int runtime)
#endif

MAIN
{
    driver_library = open_driver();
    read_rows(path, runtime);
    look_everything_up(driver_library);
    for (flags_wanted = 0; flags_wanted <= 2; flags_wanted += 2) {
        Driver driver = find_driver(find_listed);
        printf("flags %llu\n", flags_wanted);
        run_scenario(&driver);
    }
}

#ifndef AS_LIBRARY
int main(int count, char **arguments)
{
    REQUIRE(count == 3);
    run_runtime_alike(arguments[1], (unsigned int)atoi(arguments[2]));
    return 0;
}
#endif
