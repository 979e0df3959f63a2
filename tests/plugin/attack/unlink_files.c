// SPDX-License-Identifier: BSL-1.0
/* Deletes a file of its user. */
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    unlink(path_in("HOME", "victim"));
    return 0;
}
