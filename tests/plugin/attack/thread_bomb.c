// SPDX-License-Identifier: BSL-1.0
/* Starts threads without end; here 2000 at most, so that the control is harmless. */
#include <pthread.h>
#include <unistd.h>

#include "attack.h"

static void* wait_for_good(void* nothing) {
    for (;;) pause();
    return nothing;
}

int32_t on_create(void) {
    pthread_attr_t small;
    pthread_t thread;
    int started = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    while (started < 2000 && pthread_create(&thread, &small, wait_for_good, NULL) == 0) ++started;
    printf("%d threads\n", started);
    fflush(stdout);
    sleep(2);
    return 0;
}
