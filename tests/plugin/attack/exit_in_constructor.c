// SPDX-License-Identifier: BSL-1.0
/* Ends the process as if all was well, while it is loaded. */
#include <unistd.h>

#include "attack.h"

__attribute__((constructor)) static void strike(void) { _exit(0); }
