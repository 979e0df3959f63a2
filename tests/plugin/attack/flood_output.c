// SPDX-License-Identifier: BSL-1.0
/* Prints without end; here 64 MiB at most. */
#include <string.h>

#include "attack.h"

int32_t on_create(void) {
    static char line[1 << 16];
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 1024; ++i)
        if (fwrite(line, sizeof line, 1, stdout) != 1) break;
    return 0;
}
