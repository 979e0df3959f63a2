// SPDX-License-Identifier: BSL-1.0
/* Kills the process that started this one. */
#include <signal.h>
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    kill(getppid(), SIGKILL);
    return 0;
}
