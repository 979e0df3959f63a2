// SPDX-License-Identifier: BSL-1.0
// A host keeps names in place: they are bounded.
#include <ration/column.hpp>

#ifdef RATION_MISUSE
using inputs = ration::columns<ration::in<double, "jobs/gradient_noise_scale_of_the_last_hundred_steps">>;
#else
using inputs = ration::columns<ration::in<double, "jobs/gradient_noise_scale">>;
#endif
static_assert(inputs::count == 1);
