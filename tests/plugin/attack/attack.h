// SPDX-License-Identifier: BSL-1.0
/* The hooks of plugin.c. An attack is one file that defines at least one of them, or a constructor or destructor of its
 * own. */
#ifndef RATION_TEST_ATTACK_H
#define RATION_TEST_ATTACK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int32_t on_create(void); /* what create returns */
void on_decide(void);
void on_destroy(void);

/* A path below the folder that an environment variable names. */
static inline char const* path_in(char const* variable, char const* name) {
    static char path[4096];
    char const* folder = getenv(variable);
    snprintf(path, sizeof path, "%s/%s", folder == NULL ? "/nonexistent" : folder, name);
    return path;
}

#endif
