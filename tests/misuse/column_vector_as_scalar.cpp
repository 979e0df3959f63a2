// SPDX-License-Identifier: BSL-1.0
// jobs/speedup has a value for each number of devices.
#include <ration/column.hpp>

#ifdef RATION_MISUSE
using inputs = ration::columns<ration::in<double, "jobs/speedup">>;
#else
using inputs = ration::columns<ration::in_rows<double, "jobs/speedup">>;
#endif
static_assert(inputs::count == 1);
