// SPDX-License-Identifier: BSL-1.0
/// Finding out whether a job still is as its last grants left it: in its groups, with the limits in its files that were
/// written there. A job with enough rights can move itself and raise its own limits; so can another program on the
/// machine.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ration/cgroup/detail/group.hpp>
#include <ration/cgroup/detail/operation.hpp>

namespace ration::cgroup {

/// A value that differed from the wanted one, and whether it is right again.
struct drift {
    bool had_left = false;             ///< the process was outside of a group of the job
    std::vector<std::string> changed;  ///< paths of files that another program wrote to
    result<void> restored;             ///< the first error
};

namespace detail {

/// The limits that a job's files had when they were last written.
class written_limits {
    std::array<std::optional<limit>, std::variant_size_v<limit>> last_;  // one of each kind

public:
    /// `value` was written to its file.
    void keep(limit const& value) noexcept { last_[value.index()] = value; }
    void forget() noexcept { last_ = {}; }

    /// One read for each limit, and a write where it differs. Skips a file that cannot be read: a plan reports the
    /// reason.
    void restore(group const& where, drift& found, std::string& scratch) const {
        for (auto const& value : last_) {
            if (!value) continue;
            auto const place = find_place(where, *value);
            auto const now = place ? present_limit(**place, *value, scratch) : result<limit>(place.failure());
            if (!now || is_same(*now, *value)) continue;
            found.changed.push_back((*place)->path() + "/" + changed_file(**place, *now, *value));
            auto const written = put_again(**place, *value, scratch);
            found.restored = found.restored ? written : found.restored;
        }
    }

private:
    /// A quota of v1 means nothing without its period, which is in a file beside it.
    [[nodiscard]] static char const* changed_file(directory const& where, limit const& now,
                                                  limit const& value) noexcept {
        auto const *const quota = std::get_if<cpu_quota>(&value), *const shown = std::get_if<cpu_quota>(&now);
        bool const same_quota = quota != nullptr && shown != nullptr && shown->quota() == quota->quota();
        return where.kind() == version::v1 && same_quota ? "cpu.cfs_period_us" : limit_file(where, value);
    }

    [[nodiscard]] static result<void> put_again(directory const& where, limit const& value,
                                                std::string& scratch) noexcept {
        auto const* const quota = std::get_if<cpu_quota>(&value);
        if (quota != nullptr && where.kind() == version::v1) return set_quota_v1(where, *quota);
        auto const written = put_limit(where, value);
        return written ? confirm(where, value, scratch) : written;
    }
};

/// Puts the process back into the job's groups where it has left some. One that has ended has not left.
inline void bring_back(group const& where, int pid, drift& found, std::string& scratch) noexcept {
    auto const inside = where.contains(pid, scratch);
    if (inside && !*inside) {
        found.had_left = true;
        found.restored = where.place(pid);
    }
}

}  // namespace detail

}  // namespace ration::cgroup
