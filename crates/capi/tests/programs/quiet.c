/* Loading the library does nothing: no thread, no driver, no output, and unloading it is harmless. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>

static int threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL)
        return -1;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

int main(void)
{
    void *library = dlopen("libovertake.so.0", RTLD_NOW);
    if (library == NULL || dlsym(library, "overtake_open") == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (threads() != 1 || dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != NULL) {
        fprintf(stderr, "loading the library has started a thread or loaded the driver\n");
        return 1;
    }
    dlclose(library);
    puts("ok");
    return 0;
}
