// SPDX-License-Identifier: BSL-1.0
/* Leaves a process behind that belongs to no session and no group of the host. */
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

__attribute__((constructor)) static void strike(void) {
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0)
            for (;;) pause();
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
}
