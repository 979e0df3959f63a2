// SPDX-License-Identifier: BSL-1.0
/* Writes to the home directory and to the directory for temporary files. */
#include <fcntl.h>
#include <unistd.h>

#include "attack.h"

static void leave(char const* variable) {
    int file = open(path_in(variable, "attacked"), O_WRONLY | O_CREAT, 0600);
    if (file < 0) return;
    if (write(file, "x", 1) != 1) abort();
    close(file);
}

int32_t on_create(void) {
    leave("HOME");
    leave("TMPDIR");
    return 0;
}
