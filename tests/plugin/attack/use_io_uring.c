// SPDX-License-Identifier: BSL-1.0
/* Asks for a ring by which the kernel would do what a filter of system calls does not see. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    char parameters[256] = {0};
    if (syscall(SYS_io_uring_setup, 8, parameters) >= 0) printf("a ring\n");
    fflush(stdout);
    return 0;
}
