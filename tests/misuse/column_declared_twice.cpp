// SPDX-License-Identifier: BSL-1.0
// Each column has one place in the list.
#include <ration/column.hpp>

#ifdef RATION_MISUSE
using inputs = ration::columns<ration::in<double, "jobs/loss">, ration::in<std::uint64_t, "jobs/id">,
                               ration::in<double, "jobs/loss">>;
#else
using inputs = ration::columns<ration::in<double, "jobs/loss">, ration::in<std::uint64_t, "jobs/id">>;
#endif
static_assert(inputs::count >= 2);
