// SPDX-License-Identifier: BSL-1.0
/* Never comes back from being unloaded. */
#include "attack.h"

__attribute__((destructor)) static void strike(void) {
    for (unsigned volatile i = 0;; ++i) {
    }
}
