// SPDX-License-Identifier: BSL-1.0
/* Reads a file of its user, and ends so that what it printed is shown. */
#include "attack.h"

int32_t on_create(void) {
    char text[64] = "";
    FILE* file = fopen(path_in("HOME", "victim"), "r");
    if (file != NULL && fgets(text, sizeof text, file) != NULL) printf("%s\n", text);
    fflush(stdout);
    abort();
}
