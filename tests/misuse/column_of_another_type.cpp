// SPDX-License-Identifier: BSL-1.0
// A standard column has one type everywhere.
#include <ration/column.hpp>

#ifdef RATION_MISUSE
using inputs = ration::columns<ration::in<double, "jobs/held.cpu">>;
#else
using inputs = ration::columns<ration::in<std::int64_t, "jobs/held.cpu">>;
#endif
static_assert(inputs::count == 1);
