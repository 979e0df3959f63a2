// SPDX-License-Identifier: BSL-1.0
// A training loop in plain C99, compiled with -ffast-math as trainers are; also the proof that the header needs no newer C.
#include "session_c99.h"

#include <ration/progress/client.h>

void progress_session_in_c(double const *losses, int count) {
    ration_progress *const p = ration_progress_open();
    int at;
    ration_progress_hello(p, 1, 2);
    ration_progress_phase(p, "train");
    for (at = 0; at < count; ++at) ration_progress_step(p, (uint64_t)at + 1, losses[at], (uint64_t)count);
    ration_progress_eval(p, (uint64_t)count, "accuracy", 0.75);
    ration_progress_checkpoint(p, (uint64_t)count, 1);
    ration_progress_heartbeat(p);
    ration_progress_bye(p, 0, NULL);
    ration_progress_close(p);
}

void progress_nothing_in_c(void) {
    ration_progress_hello(NULL, 1, 1);
    ration_progress_step(NULL, 1, 1.0, 1);
    ration_progress_eval(NULL, 1, NULL, 1.0);
    ration_progress_phase(NULL, NULL);
    ration_progress_checkpoint(NULL, 1, 1);
    ration_progress_heartbeat(NULL);
    ration_progress_bye(NULL, 0, NULL);
    ration_progress_close(NULL);
}
