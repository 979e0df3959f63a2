// SPDX-License-Identifier: BSL-1.0
/* Kills its parent by the system calls of 32-bit programs, whose numbers are others. */
#include <signal.h>
#include <unistd.h>

#include "attack.h"

int32_t on_create(void) {
#if defined(__x86_64__)
    long result = 37; /* kill */
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(getppid()), "c"(SIGKILL) : "memory");
#endif
    return 0;
}
