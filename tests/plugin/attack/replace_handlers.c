// SPDX-License-Identifier: BSL-1.0
/* Takes the handlers by which crashes and refused calls are explained, and then deletes a file. */
#include <signal.h>
#include <unistd.h>

#include "attack.h"

static void ignore(int number) { (void)number; }

int32_t on_create(void) {
    signal(SIGSEGV, ignore);
    signal(SIGBUS, ignore);
    signal(SIGSYS, ignore);
    return 0;
}

void on_destroy(void) { unlink(path_in("HOME", "victim")); }
