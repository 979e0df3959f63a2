// SPDX-License-Identifier: BSL-1.0
// Every column belongs to a table, and its name begins with that table.
#include <ration/column.hpp>

#ifdef RATION_MISUSE
using inputs = ration::columns<ration::in<double, "loss">>;
#else
using inputs = ration::columns<ration::in<double, "jobs/loss">>;
#endif
static_assert(inputs::count == 1);
