// SPDX-License-Identifier: BSL-1.0
/* Stops its process, which then neither ends nor uses time. */
#include <signal.h>

#include "attack.h"

int32_t on_create(void) {
    raise(SIGSTOP);
    return 0;
}
