// SPDX-License-Identifier: BSL-1.0
#ifndef PROGRESS_TEST_SESSION_C99_H
#define PROGRESS_TEST_SESSION_C99_H

#ifdef __cplusplus
extern "C" {
#endif

void progress_session_in_c(double const *losses, int count);
void progress_nothing_in_c(void);

#ifdef __cplusplus
}
#endif

#endif
