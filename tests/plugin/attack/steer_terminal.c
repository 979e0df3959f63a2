// SPDX-License-Identifier: BSL-1.0
/* Prints what would change the title, the colours and the direction of a terminal, and fails so that it is shown. */
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
    printf("\033]0;owned\007\033[2J\033[31mred \302\233 31m\n");
    printf("process %d\n", getpid());
    fflush(stdout);
    return -2; /* RATION_E_ARG */
}
