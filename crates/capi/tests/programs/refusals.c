/* Refused calls: their numbers and texts, and that they write no output. */
#include "expect.h"

#define REFUSED(code, words, call)                                                                                    \
    do {                                                                                                              \
        REQUIRE((call) == (code));                                                                                    \
        REQUIRE(strstr(overtake_last_error(), words) != NULL);                                                        \
    } while (0)

static void outputs(void)
{
    struct overtake_statistics sums, untouched;
    char small[4] = "abc", *report;
    size_t needed = 0;
    int before = 4711;
    memset(&sums, 0xee, sizeof sums);
    sums.struct_size = 8;
    untouched = sums;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "statistics is null", overtake_read_statistics(NULL));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "struct_size", overtake_read_statistics(&sums));
    REQUIRE(memcmp(&sums, &untouched, sizeof sums) == 0);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "priority is null", overtake_stream_priority(NULL, NULL));
    REQUIRE(overtake_set_thread_priority(99, &before) == OVERTAKE_ERROR_INVALID_ARGUMENT && before == 4711);
    REQUIRE(overtake_report_json(NULL, 0, &needed) == OVERTAKE_ERROR_BUFFER_TOO_SMALL && needed > 2);
    REQUIRE(overtake_report_json(small, sizeof small, NULL) == OVERTAKE_ERROR_BUFFER_TOO_SMALL);
    REQUIRE(strcmp(small, "abc") == 0);
    report = malloc(needed + 4096);
    OK(overtake_report_json(report, needed + 4096, &needed));
    REQUIRE(strlen(report) + 1 == needed && report[0] == '{' && strstr(report, "\"deployment\":\"c\"") != NULL);
    free(report);
}

/* A program that was built against a later version has a longer structure. */
static void longer_structure(void)
{
    struct {
        struct overtake_statistics known;
        uint64_t unknown[4];
    } sums;
    memset(&sums, 0xee, sizeof sums);
    sums.known.struct_size = sizeof sums;
    OK(overtake_read_statistics(&sums.known));
    REQUIRE(sums.known.struct_size == sizeof sums.known);
    for (size_t i = 0; i < 4; i++)
        REQUIRE(sums.unknown[i] == 0);
}

static void arguments(void)
{
    char byte = 0;
    size_t size = 1;
    void *target = &byte;
    const void *source = &byte;
    REFUSED(OVERTAKE_ERROR_SYNTAX, "the options:2:1: ", overtake_open("priorities = 3\nkernel_bites_min = 1\n"));
    REQUIRE(overtake_priorities() != 3); /* no part of it is used */
    REFUSED(OVERTAKE_ERROR_NO_SCOPE, "overtake_push_priority", overtake_pop_priority());
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "1 (bulk) or more", overtake_adopt_stream(NULL, 0));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "rules is null", overtake_set_rules(NULL));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "arrays", overtake_memcpy_batch_async(NULL, &source, &size, 1, NULL, 1));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "arrays", overtake_memcpy_batch_async(&target, NULL, &size, 1, NULL, 1));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "arrays", overtake_memcpy_batch_async(&target, &source, NULL, 1, NULL, 1));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "", overtake_set_stream_priority(NULL, -1));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "", overtake_push_priority(8));
    REFUSED(OVERTAKE_ERROR_NO_SCOPE, "", overtake_pop_priority());
    REFUSED(OVERTAKE_ERROR_SYNTAX, "", overtake_set_rules("[["));
}

/* A range that is longer than the allocation: the driver's own number comes back. */
static void driver_errors(void)
{
    unsigned char *host = pinned_bytes(4096, 1);
    void *device = on_device(4096);
    CUstream stream = new_stream();
    int code = overtake_memcpy_async(device, host, 1 << 22, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 5);
    REQUIRE(code == CUDA_ERROR_INVALID_VALUE && strlen(overtake_last_error()) > 0);
    OK(overtake_memcpy_async(device, host, 4096, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 5));
    OK(cuStreamSynchronize(stream));
}

static void names(void)
{
    REQUIRE(strcmp(overtake_error_name(OVERTAKE_ERROR_PANIC), "OVERTAKE_ERROR_PANIC") == 0);
    REQUIRE(strcmp(overtake_error_name(CUDA_ERROR_OUT_OF_MEMORY), "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    REQUIRE(strcmp(overtake_error_name(123456), "unknown") == 0);
    REQUIRE(strcmp(overtake_error_text(OVERTAKE_OK), "success") == 0);
    REQUIRE(overtake_version() ==
            OVERTAKE_VERSION_MAJOR * 10000 + OVERTAKE_VERSION_MINOR * 100 + OVERTAKE_VERSION_PATCH);
    REQUIRE(overtake_version_text()[0] == '0');
}

int main(void)
{
    names();
    REQUIRE(strcmp(overtake_last_error(), "") == 0);
    open_device();
    arguments();
    outputs();
    longer_structure();
    driver_errors();
    puts("ok");
    return 0;
}
