// SPDX-License-Identifier: BSL-1.0
// Noise belongs to predictions. The step of a job is counted.
#include <ration/sim/prediction_noise.hpp>

#ifdef RATION_MISUSE
double factor(ration::sim::prediction_noise const& noise) { return noise.factor<"jobs/step">(1, 2); }
#else
double factor(ration::sim::prediction_noise const& noise) { return noise.factor<"jobs/remaining">(1, 2); }
#endif
