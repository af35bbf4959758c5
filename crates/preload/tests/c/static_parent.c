/* A static program, into which no preloaded library gets: it runs others, which must have the drop-in all the same. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int status = -1;
    if (count < 2)
        return 64;
    printf("static parent\n");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execv(arguments[1], arguments + 1);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 1;
    printf("child: %d\n", WEXITSTATUS(status));
    fflush(stdout);
    execv(arguments[1], arguments + 1);
    return 127;
}
