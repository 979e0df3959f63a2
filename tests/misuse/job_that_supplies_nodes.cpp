// SPDX-License-Identifier: BSL-1.0
// What a node has is not a job's to say.
#include <ration/column_adapter.hpp>

struct training {
    std::int64_t devices;
#ifdef RATION_MISUSE
    using supplies = ration::columns<ration::from<std::int64_t, "nodes/capacity.gpu", &training::devices>>;
#else
    using supplies = ration::columns<ration::from<std::int64_t, "jobs/held.gpu", &training::devices>>;
#endif
};
static_assert(training::supplies::count == 1);
