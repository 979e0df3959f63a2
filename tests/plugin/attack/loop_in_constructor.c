// SPDX-License-Identifier: BSL-1.0
/* Never comes back from being loaded. */
#include "attack.h"

__attribute__((constructor)) static void strike(void) {
    for (unsigned volatile i = 0;; ++i) {
    }
}
