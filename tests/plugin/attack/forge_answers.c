// SPDX-License-Identifier: BSL-1.0
/* Writes the answer of a good probe to every descriptor that it finds, and ends the process. */
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    for (int file = 3; file < 1024; ++file)
        if (write(file, "P", 1) < 0) continue;
    _exit(0);
}
