// SPDX-License-Identifier: BSL-1.0
// A training loop in plain C99, compiled with -ffast-math as trainers are; also the proof that the header needs no
// newer C.
#include "session_c99.h"

#include <ration/progress/client_commands.h>

void progress_session_in_c(double const* losses, int count) {
    ration_progress* const p = ration_progress_open();
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

static int save(uint64_t step) { return step % 2 == 0; }

static int stopped(ration_progress* p) {
    ration_progress_bye(p, 0, "stop");
    ration_progress_close(p);
    return 0;
}

int progress_obedient_in_c(uint64_t steps) {
    ration_progress* const p = ration_progress_open();
    uint64_t step;
    ration_progress_listen(p); /* before the hello, which has the address on which the job listens */
    ration_progress_hello_on(p, 1, 1, getenv("RATION_DEVICES"));
    for (step = 1; step <= steps; ++step) {
        double by;
        int saved = 0, hold, asked;
        ration_progress_step(p, step, 1.0, steps);
        asked = ration_progress_command(p, &by, &hold);
        while (asked == RATION_PROGRESS_SAVE || asked == RATION_PROGRESS_STOP) {
            if (asked == RATION_PROGRESS_SAVE || !saved)
                ration_progress_checkpoint(p, step, saved = saved || save(step));
            if (asked == RATION_PROGRESS_STOP) return stopped(p);
            asked = saved && hold ? ration_progress_hold(p, by, &by, &hold) : ration_progress_command(p, &by, &hold);
        }
    }
    ration_progress_close(p);
    return 1;
}

void progress_nothing_in_c(void) {
    ration_progress_listen(NULL);
    ration_progress_hello_on(NULL, 1, 1, NULL);
    ration_progress_want(NULL, 1);
    ration_progress_batch(NULL, 1);
    ration_progress_command(NULL, NULL, NULL);
    ration_progress_hold(NULL, 1000, NULL, NULL);
    ration_progress_hello(NULL, 1, 1);
    ration_progress_step(NULL, 1, 1.0, 1);
    ration_progress_eval(NULL, 1, NULL, 1.0);
    ration_progress_phase(NULL, NULL);
    ration_progress_checkpoint(NULL, 1, 1);
    ration_progress_heartbeat(NULL);
    ration_progress_bye(NULL, 0, NULL);
    ration_progress_close(NULL);
}
