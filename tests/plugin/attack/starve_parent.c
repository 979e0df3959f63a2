// SPDX-License-Identifier: BSL-1.0
/* Lowers the limits and the priority of its parent. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    struct rlimit few = {16, 16};
    prlimit(getppid(), RLIMIT_NOFILE, &few, NULL);
    setpriority(PRIO_PROCESS, (id_t)getppid(), 19);
    return 0;
}
