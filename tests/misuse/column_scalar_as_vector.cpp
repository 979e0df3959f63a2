// SPDX-License-Identifier: BSL-1.0
// jobs/loss is one value per job; the last few of them are jobs/loss.window.
#include <ration/column.hpp>

#ifdef RATION_MISUSE
using inputs = ration::columns<ration::in_rows<double, "jobs/loss">>;
#else
using inputs = ration::columns<ration::in_rows<double, "jobs/loss.window">>;
#endif
static_assert(inputs::count == 1);
