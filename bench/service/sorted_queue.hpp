// SPDX-License-Identifier: BSL-1.0
// The rule of fair_queue on a plain sorted list: all waiting jobs are sorted by finish tag at each decision. It has the
// same answers, which the benchmark compares.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace bench {

/// Weighted round robin without limits of tenants.
class sorted_queue {
public:
    using policy_concept = ration::policy_tag;
    using inputs = ration::policies::detail::rigid_columns<ration::in<std::uint32_t, "jobs/tenant">,
                                                           ration::in<double, "tenants/weight">>;
    static constexpr ration::meta about{.id = "org.example.sorted-queue", .version = "1.0.0"};

    [[nodiscard]] ration::status prepare(ration::limits const& most) noexcept {
        jobs_.reserve(most);
        return ration::status::ok;
    }
    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        finish_.resize(t.tenants());
        waited_.resize(t.tenants());
        for (std::size_t tenant = 0; tenant < finish_.size(); ++tenant)
            if (waited_[tenant] == 0) finish_[tenant] = std::max(finish_[tenant], virtual_time_);
        std::ranges::fill(waited_, char{0});
        bool is_full = !jobs_.begin(t, false);
        list(t);
        for (auto const& one : queue_) {
            is_full = is_full || !jobs_.start(t, one.row);
            if (is_full)
                waited_[one.tenant] = 1;
            else
                finish_[one.tenant] = virtual_time_ = one.finish;
        }
        return jobs_.finish(t, out);
    }

private:
    struct entry {
        double finish;
        std::uint32_t tenant, row;
    };
    ration::policies::detail::rigid_jobs jobs_;
    std::vector<double> finish_, last_;
    std::vector<char> waited_;  // by tenant: jobs waited after the last answer
    std::vector<entry> queue_;
    double virtual_time_ = 0;

    void list(ration::tick<inputs> const& t) {
        queue_.clear();
        last_ = finish_;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (jobs_.wanted(row) <= jobs_.held(row)) continue;
            std::uint32_t const tenant = t.get<"jobs/tenant">()[row];
            last_[tenant] += 1 / t.get<"tenants/weight">()[tenant];
            queue_.push_back({last_[tenant], tenant, static_cast<std::uint32_t>(row)});
        }
        std::ranges::sort(queue_, [](entry const& a, entry const& b) {
            return a.finish != b.finish ? a.finish < b.finish : a.tenant < b.tenant;
        });
    }
};

}  // namespace bench
