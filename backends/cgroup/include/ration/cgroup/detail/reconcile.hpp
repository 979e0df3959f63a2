// SPDX-License-Identifier: BSL-1.0
/// Finding out whether a job still is as its last grants left it: in its groups, with the texts in its files that were
/// written there. A job with enough rights can move itself and raise its own limits; so can another program on the
/// machine.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cgroup/detail/group.hpp>
#include <ration/cgroup/detail/operation.hpp>

namespace ration::cgroup {

/// What was not as it should be, and whether it is again.
struct drift {
    bool had_left = false;             ///< the process was outside of a group of the job
    std::vector<std::string> changed;  ///< paths of files that another program wrote to
    result<void> restored;             ///< the first error
};

namespace detail {

/// The texts that a job's files had when they were last written.
class written_texts {
    std::vector<operation> last_;  // of each file once; `new_value` is what it should have

    void remember(operation op, std::string_view value) noexcept {
        auto const at = std::ranges::find_if(last_, [&](operation const& each) {
            return each.place == op.place && std::string_view(each.file) == op.file;
        });
        op.new_value = value;
        if (at == last_.end())
            last_.push_back(op);
        else
            *at = op;
    }

public:
    /// `value` was written to the file of `op`. A quota of v1 means nothing without its period: that is remembered
    /// first, and so restored first.
    void keep(directory const& where, operation const& op, std::string_view value) noexcept {
        if (std::string_view(op.file) == "cpu.cfs_quota_us") {
            std::string text;
            if (auto const period = where.read("cpu.cfs_period_us", text)) {
                operation of_period = op;
                of_period.file = "cpu.cfs_period_us";
                remember(of_period, *period);
            }
        }
        remember(op, value);
    }
    void forget() noexcept { last_.clear(); }

    /// One read for each file, and a write where it has another text. A file that cannot be read is passed over: a plan
    /// says why.
    void restore(group const& where, drift& found, std::string& scratch) const noexcept {
        for (operation const& op : last_) {
            auto const place = find_place(where, op.place);
            auto const now = place ? shown(**place, op, scratch) : result<std::string_view>(place.failure());
            if (!now || same_value(*now, op.new_value)) continue;
            found.changed.push_back((*place)->path() + "/" + op.file);
            auto const written = put(**place, op, op.new_value);
            found.restored = found.restored ? written : found.restored;
        }
    }
};

/// Puts the process back into the job's groups where it has left some. One that has ended has not left.
inline void bring_back(group const& where, int pid, drift& found) noexcept {
    auto const inside = where.contains(pid);
    if (inside && !*inside) {
        found.had_left = true;
        found.restored = where.place(pid);
    }
}

}  // namespace detail

}  // namespace ration::cgroup
