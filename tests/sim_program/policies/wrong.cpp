// SPDX-License-Identifier: BSL-1.0
// greedy.so grants every job a thousand devices; with RATION_MOODY, moody.so reads a column that no host offers.
#include <ration/plugin/export.hpp>

namespace {

using namespace ration;

struct wrong {
    using policy_concept = policy_tag;
#ifdef RATION_MOODY
    using inputs = columns<in<std::uint32_t, "jobs/mood">>;
    static constexpr meta about{.id = "test.moody", .version = "1.0.0"};
#else
    using inputs = columns<in<std::uint32_t, "jobs/state">>;
    static constexpr meta about{.id = "test.greedy", .version = "1.0.0"};
#endif

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (!out.set(row, 0, resource_id::gpu, 1000)) return status::capacity;
        return status::ok;
    }
};

}  // namespace

RATION_EXPORT_POLICY(wrong)
