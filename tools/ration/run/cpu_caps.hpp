// SPDX-License-Identifier: BSL-1.0
/// Upper bounds of the CPU limits of jobs on CPU devices.
#pragma once

#include <algorithm>
#include <map>

#include <ration/host/plan.hpp>

namespace ration::program {

class cpu_caps {
    std::map<job_id, millicores> caps_;

public:
    void set(job_id job, millicores cap) { caps_.insert_or_assign(job, cap); }
    void erase(job_id job) noexcept { caps_.erase(job); }
    /// The setting, with a smaller amount if the job's cap requires that.
    [[nodiscard]] setting apply(setting wanted) const noexcept {
        auto const cap = caps_.find(wanted.job);
        if (wanted.resource == resource_id::cpu && cap != caps_.end())
            wanted.amount = std::min(wanted.amount, cap->second.count);
        return wanted;
    }
};

}  // namespace ration::program
