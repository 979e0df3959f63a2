// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The attained service of each job now, also where a host lists changes.
///
/// Part of `max_min`, for its division by tenants.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/changes.hpp>
#include <ration/job_memory.hpp>
#include <ration/policies/detail/followed_order.hpp>
#include <ration/policy.hpp>
#include <ration/target.hpp>
#include <ration/units.hpp>

namespace ration::policies::detail {

/// The host does not renew `jobs/attained` of a row that it does not list. It grows by the devices that the job holds.
class attained_service {
    job_memory<line> lines_;

public:
    /// Allocates for the largest tables, and removes all jobs.
    void reserve(limits const& most) noexcept {
        lines_ = {};
        lines_.reserve(most.jobs);
    }
    /// Takes in what has changed since the last tick. O(jobs).
    template <class Tick>
    void follow(Tick const& t) noexcept {
        static_cast<void>(lines_.follow(t.template get<"jobs/id">()));
        auto const attained = t.template get<"jobs/attained">();
        auto const& changed = t.changes(table_id::jobs);
        for (std::size_t row = 0; changed.everything != 0 && row < t.jobs(); ++row)
            lines_[row] = {attained[row], t.now().count};
        for (std::size_t i = 0; i < changed.count; ++i)
            if ((changed.groups[i] & progress_columns) != 0)
                lines_[changed.row[i]] = {attained[changed.row[i]], changed.at[i] < 0 ? t.now().count : changed.at[i]};
    }
    /// The device-seconds of the job so far.
    template <class Tick>
    [[nodiscard]] double of(Tick const& t, std::size_t row) const noexcept {
        line const& known = lines_[row];
        auto const held = static_cast<double>(t.template get<"jobs/held.gpu">()[row]);
        return known.value + held * to_seconds(t.now() - nanoseconds{known.since});
    }
};

}  // namespace ration::policies::detail
