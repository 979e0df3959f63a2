// SPDX-License-Identifier: BSL-1.0
/// The jobs of the first sample one by one, for the list of a page.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

struct simulation_results;
class json_writer;

/// The holdings of one job, from one change to the next: devices, or cores.
struct job_history {
    struct change {
        nanoseconds at;
        double amount = 0;
    };
    static constexpr std::size_t most_changes = 64;

    std::vector<change> changes;  ///< the first of them
    std::uint32_t count = 0;      ///< of all

    void add(nanoseconds at, double amount) {
        if (count++ < most_changes) changes.push_back({at, amount});
    }
};

/// The member `jobs` of a simulation, what all policies have in common; and that of a policy, what became of each. Jobs
/// of the first sample, at most 60 000 lines, 30 000 changes of amounts and as many of nodes over all policies, so that
/// a page stays small.
void write_common_jobs(json_writer& json, simulation_results const& all);
void write_jobs_of(json_writer& json, simulation_results const& all, std::size_t policy);

}  // namespace ration::program
