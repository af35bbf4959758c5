/* Forks at every moment; the argument chooses one. A child of a process with CUDA has no CUDA. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

extern char **environ;
static const char *self;

static void print_end(const char *what, pid_t child)
{
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status))
        printf("%s exited with %d\n", what, WEXITSTATUS(status));
    else
        printf("%s was ended by %d\n", what, WTERMSIG(status));
    fflush(stdout);
}

static void whole_program(void)
{
    open_device();
    Traffic traffic = arm();
    free_traffic(&traffic);
    close_device();
}

static void before_initialisation(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        whole_program();
        exit(3);
    }
    print_end("child", child);
    whole_program();
}

/* The calls that a child may make, with the driver's answers. */
static void calls_of_a_child(Traffic *traffic)
{
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUevent event = NULL;
    CUdeviceptr pointer = 0;
    void *pinned = NULL, *address = NULL;
    int status = 99;
    CODE(cuInit(0));
    CODE(cuCtxGetCurrent(&context));
    CODE(cuMemcpyHtoD(traffic->device, traffic->in, TRAFFIC_BULK));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    CODE(cuMemcpyDtoHAsync(traffic->small_out, traffic->small_device, TRAFFIC_SMALL, traffic->urgent));
    CODE(cuMemcpyAsync(traffic->device, traffic->small_device, TRAFFIC_SMALL, traffic->urgent));
    CODE(cuMemsetD8Async(traffic->device, 0, 4, NULL));
    CODE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CODE(cuStreamSynchronize(traffic->bulk));
    CODE(cuStreamDestroy(traffic->bulk));
    CODE(cuEventRecord(event, traffic->bulk));
    CODE(cuMemHostAlloc(&pinned, 4096, 0));
    CODE(cuMemHostRegister(traffic->in, 4096, 0));
    CODE(cuMemAlloc(&pointer, 4096));
    CODE(cuCtxSynchronize());
    CODE(cuDevicePrimaryCtxRelease(0));
    CODE(cuGetProcAddress_v2("cuMemcpyHtoDAsync", &address, 12000, 0, &status));
    printf("found: %d, again %d\n", address != NULL, dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2") != NULL);
}

static void after_initialisation(void)
{
    open_device();
    Traffic traffic = arm();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        calls_of_a_child(&traffic);
        exit(4);
    }
    print_end("child", child);
    printf("parent goes on: %016llx\n", (unsigned long long)run_traffic(&traffic, 5));
    free_traffic(&traffic);
    close_device();
}

static atomic_int stop;

static void *hammer(void *context)
{
    OK(cuCtxSetCurrent(context));
    Traffic traffic = new_traffic();
    while (!atomic_load(&stop)) {
        send_traffic(&traffic);
        OK(cuStreamSynchronize(traffic.urgent));
    }
    OK(cuStreamSynchronize(traffic.bulk));
    free_traffic(&traffic);
    return NULL;
}

/* Threads are in the middle of copies at the moment of the fork: the child finds their locks held for ever. */
static void while_others_copy(void)
{
    pthread_t threads[3];
    CUcontext context = open_device();
    Traffic traffic = arm();
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], NULL, hammer, context) == 0);
    int refused = 0;
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        if (child == 0) {
            int same = cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, traffic.bulk) ==
                           CUDA_ERROR_NOT_INITIALIZED &&
                       cuMemcpyDtoHAsync(traffic.small_out, traffic.small_device, TRAFFIC_SMALL, traffic.urgent) ==
                           CUDA_ERROR_NOT_INITIALIZED &&
                       cuStreamDestroy(traffic.bulk) == CUDA_ERROR_NOT_INITIALIZED;
            _exit(same ? 42 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        refused += WIFEXITED(status) && WEXITSTATUS(status) == 42;
        nap_us(1000);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    printf("children that were refused everything: %d\n", refused);
    free_traffic(&traffic);
    close_device();
}

static void then_exec(void)
{
    open_device();
    Traffic traffic = arm();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, "whole", (char *)NULL);
        _exit(127);
    }
    print_end("executed", child);
    free_traffic(&traffic);
    close_device();
}

static void spawned(void)
{
    pid_t child = -1;
    char *arguments[] = {(char *)(uintptr_t)self, "whole", NULL};
    open_device();
    Traffic traffic = arm();
    fflush(stdout);
    REQUIRE(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
    print_end("spawned", child);
    child = vfork();
    if (child == 0) {
        execv(self, arguments);
        _exit(127);
    }
    print_end("vforked", child);
    free_traffic(&traffic);
    close_device();
}

static void through_a_shell(void)
{
    char command[4200];
    snprintf(command, sizeof command, "'%s' whole | cat; exit 5", self);
    fflush(stdout);
    printf("shell: %d\n", WEXITSTATUS(system(command)));
    whole_program();
}

/* The process stays and becomes another program while copies are in flight. */
static void becomes_another(void)
{
    open_device();
    Traffic traffic = arm();
    fflush(stdout);
    send_traffic(&traffic);
    execl(self, self, "whole", (char *)NULL);
    _exit(127);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } moments[] = {{"whole", whole_program},         {"before", before_initialisation},
                   {"after", after_initialisation},  {"hammer", while_others_copy},
                   {"exec", then_exec},              {"spawn", spawned},
                   {"shell", through_a_shell},       {"become", becomes_another}};
    REQUIRE(count == 2);
    self = arguments[0];
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (strcmp(arguments[1], moments[i].name) == 0) {
            moments[i].run();
            return 0;
        }
    return 64;
}
