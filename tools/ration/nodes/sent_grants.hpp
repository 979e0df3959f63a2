// SPDX-License-Identifier: BSL-1.0
/// The policy of a node: it answers with the last grants that the controller has sent, and decides nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include <ration/job.hpp>
#include <ration/policy.hpp>

namespace ration::program {

/// The grants of one list, by `jobs/id`.
struct grant_list {
    struct entry {
        std::int64_t devices = 0, batch = 0;
    };
    std::map<std::uint64_t, entry> jobs;
    std::uint64_t number = 0;    ///< of the list; the first one is 1
    std::uint64_t answered = 0;  ///< the list of the last answer
};

class sent_grants {
    std::shared_ptr<grant_list> list_;

public:
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">>;
    static constexpr meta about{
        .id = "ration.sent_grants", .version = "1.0.0", .summary = "what the controller of the run has decided"};

    explicit sent_grants(std::shared_ptr<grant_list> list) noexcept : list_(std::move(list)) {}

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            auto const found = list_->jobs.find(t.get<"jobs/id">()[row]);
            if (found == list_->jobs.end() || !is_active(static_cast<job_state>(t.get<"jobs/state">()[row]))) continue;
            auto const& [devices, batch] = found->second;
            if (!out.set(row, 0, resource_id::gpu, devices)) return status::capacity;
            if (batch > 0 && !out.set(row, 0, resource_id::batch, batch)) return status::capacity;
        }
        list_->answered = list_->number;
        return status::ok;
    }
};
static_assert(Policy<sent_grants>);

}  // namespace ration::program
