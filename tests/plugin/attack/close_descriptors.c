// SPDX-License-Identifier: BSL-1.0
/* Closes every descriptor, so that no answer can leave the process. */
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    for (int file = 0; file < 1024; ++file) close(file);
    return 0;
}
