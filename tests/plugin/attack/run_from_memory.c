// SPDX-License-Identifier: BSL-1.0
/* Runs a program that is in no file. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"

extern char** environ;

int32_t on_create(void) {
    static char const script[] = "#!/bin/sh\n: > \"$HOME/attacked\"\n";
    char* words[] = {"script", NULL};
    int file = memfd_create("script", 0);
    if (write(file, script, strlen(script)) < 0) return 0;
    fexecve(file, words, environ);
    return 0;
}
