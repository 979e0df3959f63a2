// SPDX-License-Identifier: BSL-1.0
// A column holds one of five types, which have the same size on every machine.
#include <ration/column.hpp>

#ifdef RATION_MISUSE
using inputs = ration::columns<ration::in<int, "jobs/age">>;
#else
using inputs = ration::columns<ration::in<std::int64_t, "jobs/age">>;
#endif
static_assert(inputs::count == 1);
