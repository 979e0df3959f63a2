// SPDX-License-Identifier: BSL-1.0
/* Stops its parent by ptrace and holds it. */
#include <sys/ptrace.h>
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    if (ptrace(PTRACE_SEIZE, getppid(), 0, 0) != 0) return 0;
    ptrace(PTRACE_INTERRUPT, getppid(), 0, 0);
    for (;;) pause();
}
