// SPDX-License-Identifier: BSL-1.0
#ifndef PROGRESS_TEST_SESSION_C99_H
#define PROGRESS_TEST_SESSION_C99_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void progress_session_in_c(double const* losses, int count);
void progress_nothing_in_c(void);
/* Trains until a stop command, saves at even steps only; returns its exit status, 1 without a stop within `steps`. */
int progress_obedient_in_c(uint64_t steps);

#ifdef __cplusplus
}
#endif

#endif
