// SPDX-License-Identifier: BSL-1.0
/* Starts processes on each tick; here 64 at most, so that the control is harmless. */
#include <unistd.h>

#include "attack.h"

void on_decide(void) {
    for (int i = 0; i < 64; ++i) {
        pid_t child = fork();
        if (child == 0)
            for (;;) pause();
        if (child > 0) setpgid(child, child); /* out of reach of those who kill this one's group */
    }
}
