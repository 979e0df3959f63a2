// SPDX-License-Identifier: BSL-1.0
/* Takes memory until there is none left; here 8 GiB of addresses at most, of which it touches little. */
#include <sys/mman.h>

#include "attack.h"

int32_t on_create(void) {
    size_t const piece = (size_t)256 << 20;
    for (int i = 1; i <= 32; ++i) {
        char* memory = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return -5; /* RATION_E_NOMEM */
        memory[0] = 1;
    }
    printf("8192 MiB\n");
    fflush(stdout);
    return 0;
}
