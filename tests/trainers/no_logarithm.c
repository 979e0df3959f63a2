// SPDX-License-Identifier: BSL-1.0
/* Preloaded into the trainer: its losses are not numbers from the start. */
#include <math.h>

float logf(float x);

float logf(float x) { return x * NAN; }
