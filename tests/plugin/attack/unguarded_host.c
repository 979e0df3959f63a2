// SPDX-License-Identifier: BSL-1.0
/* unguarded_host PLUGIN: runs a plugin in a child process with all rights, and prints how that ended. It is the control
   of the attacks: what each does where nothing contains it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ration/plugin/abi.h>

static double const most_cpu_seconds = 0.3;

static void use(char const* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ration_policy const* policy = library == NULL ? NULL : dlsym(library, RATION_ABI_SYMBOL);
    if (policy == NULL) _exit(99);
    void* self = NULL;
    char err[256] = "";
    uint64_t scratch = 0;
    ration_out out = {sizeof out, 0, 0, 0, 0, NULL};
    policy->create(NULL, "", 0, &self, err, sizeof err);
    policy->bind(self, NULL, &scratch, err, sizeof err);
    policy->decide(self, NULL, &out);
    policy->destroy(self);
    dlclose(library);
}

static void print_end(int status) {
    if (WIFSTOPPED(status))
        printf("stopped\n");
    else if (WIFSIGNALED(status))
        printf("signal %d\n", WTERMSIG(status));
    else
        printf("exit %d\n", WEXITSTATUS(status));
}

static int computes_without_end(pid_t child) {
    clockid_t clock;
    struct timespec spent;
    return clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &spent) == 0 &&
           (double)spent.tv_sec + (double)spent.tv_nsec * 1e-9 > most_cpu_seconds;
}

/* Waits for the child; one that computes without end is asked to end first. */
static void watch(pid_t child) {
    int status = 0;
    for (int asked = 0; waitpid(child, &status, WUNTRACED | WNOHANG) == 0; usleep(10000)) {
        if (!computes_without_end(child)) continue;
        if (asked++ == 0) {
            printf("computes without end\n");
            kill(child, SIGTERM);
        } else if (asked == 20) {
            printf("ignores SIGTERM\n");
            kill(child, SIGKILL);
        }
    }
    print_end(status);
}

int main(int count, char** words) {
    int ends[2];
    char answer = 0;
    char** environment = environ;
    struct rlimit files;
    if (count != 2 || pipe(ends) != 0) return 2;
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        use(words[1]);
        if (write(ends[1], "P", 1) != 1) _exit(98);
        _exit(0);
    }
    close(ends[1]);
    watch(child);
    kill(-child, SIGKILL);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (read(ends[0], &answer, 1) == 1 && answer == 'P') printf("answered\n");
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur == 16) printf("its limits were changed\n");
    if (getpriority(PRIO_PROCESS, 0) == 19) printf("its priority was changed\n");
    if (environ != environment) printf("its memory was changed\n");
    return 0;
}
