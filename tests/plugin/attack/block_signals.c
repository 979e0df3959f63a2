// SPDX-License-Identifier: BSL-1.0
/* Ignores and blocks every signal, and computes without end. */
#include <signal.h>

#include "attack.h"

int32_t on_create(void) {
    sigset_t all;
    for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (unsigned volatile i = 0;; ++i) {
    }
}
