// SPDX-License-Identifier: BSL-1.0
/* Makes itself invisible to debuggers, and takes back that it ends with its parent. */
#include <signal.h>
#include <sys/prctl.h>

#include "attack.h"

int32_t on_create(void) {
    if (prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_PDEATHSIG, 0) == 0) printf("on its own\n");
    fflush(stdout);
    return 0;
}
