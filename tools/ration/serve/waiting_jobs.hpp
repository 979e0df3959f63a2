// SPDX-License-Identifier: BSL-1.0
/// The queued jobs of the service's list in memory, so that a change costs what changed and not what waits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/job_store.hpp"

namespace ration::program {

/// A queued job that can never start, since another one did not complete.
struct lost_job {
    std::int64_t job = 0, predecessor = 0;
};

/// The jobs that may start now, one after the other: by their priority, then in turns of their tenants, then by their
/// ids. Of equal priority, the next job is that of the tenant which would then have the fewest jobs in the run for its
/// share. O(tenants) for each. A view: valid until the jobs are refreshed.
class start_order {
public:
    /// Negative priority, then id.
    using place = std::pair<std::int64_t, std::int64_t>;

private:
    struct tenant {
        std::set<place>::const_iterator next, end;
        double share = 1, jobs = 0;
    };
    std::vector<tenant> tenants_;

public:
    /// `jobs`: of the tenant in the run.
    void add(std::set<place> const& ready, double share, double jobs);
    /// None: there is no further one.
    [[nodiscard]] std::optional<std::int64_t> next() noexcept;
};

class waiting_jobs {
    std::map<std::int64_t, brief_job> jobs_;                     // by id
    std::map<std::int64_t, std::set<std::int64_t>> successors_;  // waiting ones, by the id of what they wait for
    std::map<std::string, std::set<start_order::place>> ready_;  // by tenant
    std::set<std::pair<std::int64_t, std::int64_t>> resting_;    // time in ms, id
    std::map<std::int64_t, std::int64_t> lost_;                  // and what did not complete
    bool loaded_ = false;

public:
    /// Brings them in line with the list. O(changes), the first time and after an error O(jobs). Errors: those of
    /// `job_store`. Precondition: all changes of the list are committed or rolled back.
    [[nodiscard]] result<void> refresh(job_store& store, std::int64_t now_ms);
    /// The time from which another one may start; 0: none waits for a time alone.
    [[nodiscard]] std::int64_t next_ms() const noexcept { return resting_.empty() ? 0 : resting_.begin()->first; }
    [[nodiscard]] std::vector<lost_job> lost() const;
    /// `running`: jobs in the run by tenant.
    [[nodiscard]] start_order order(std::map<std::string, double> const& running,
                                    std::function<double(std::string_view)> const& share_of) const;

private:
    [[nodiscard]] result<void> load(job_store& store);
    [[nodiscard]] result<void> read_again(job_store& store, std::int64_t id);
    [[nodiscard]] result<void> add(job_store& store, brief_job job);
    void remove(std::int64_t id);
};

}  // namespace ration::program
