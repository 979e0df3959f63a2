// SPDX-License-Identifier: BSL-1.0
/// The queued jobs of the service's list in memory, so that a change costs what changed and not what waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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

/// Both in ms: since 1970, and since the boot, on a clock that is never set. Waits are on the latter.
struct clock_reading {
    std::int64_t wall_ms = 0, boot_ms = 0;
};

/// A queued job that can never start, since another one did not complete.
struct lost_job {
    std::int64_t job = 0, predecessor = 0;
};

/// The jobs of one tenant that may start, in lists of equal priority.
class ready_jobs {
public:
    /// Ids ascend. By the negative priority, so that the most urgent list is the first. None is empty.
    using lists = std::map<std::int64_t, std::deque<std::int64_t>>;

private:
    lists lists_;

public:
    [[nodiscard]] lists const& all() const noexcept { return lists_; }
    [[nodiscard]] bool empty() const noexcept { return lists_.empty(); }
    [[nodiscard]] bool contains(std::int64_t priority, std::int64_t id) const;
    /// O(log jobs) at either end of its list, which is where jobs arrive and start; otherwise O(jobs).
    void add(std::int64_t priority, std::int64_t id);
    /// Without an effect if the job is not there. As `add`.
    void remove(std::int64_t priority, std::int64_t id);
};

/// The jobs that may start now, one after the other: by their priority, then in turns of their tenants, then by their
/// ids. Of equal priority, the next job is that of the tenant which would then have the fewest jobs in the run for its
/// share. O(tenants) for each. A view: valid until the jobs are refreshed.
class start_order {
    struct tenant {
        ready_jobs::lists const* lists;
        ready_jobs::lists::const_iterator list;  // of its next job
        std::size_t index = 0;                   // of that job
        double share = 1, jobs = 0;

        /// The turn of its job with this number, from 0, if all jobs before that one were taken.
        [[nodiscard]] double turn(std::size_t number) const noexcept {
            return (jobs + static_cast<double>(number) + 1) / share;
        }
    };
    std::vector<tenant> tenants_;

public:
    /// `running`: jobs of the tenant in the run.
    void add(ready_jobs const& ready, double share, double running);
    /// None: all have been returned.
    [[nodiscard]] std::optional<std::int64_t> next() noexcept;
    /// The jobs that `next` returns before this one. Pre: `next` was not called; the job is in `ready`, which was
    /// added. O(tenants x log jobs), and a step for each list.
    [[nodiscard]] std::size_t jobs_before(ready_jobs const& ready, std::int64_t priority, std::int64_t id) const;
};

class waiting_jobs {
    struct due_time {
        std::int64_t not_before_ms = 0, boot_ms = 0;  // as in the list, and when that is
    };
    std::map<std::int64_t, brief_job> jobs_;                     // by id
    std::map<std::int64_t, std::set<std::int64_t>> successors_;  // waiting ones, by the id of what they wait for
    std::map<std::string, ready_jobs> ready_;                    // by tenant; none is empty
    std::set<std::pair<std::int64_t, std::int64_t>> resting_;    // ms since the boot, id
    std::map<std::int64_t, due_time> due_;                       // of those with a rest, also while they do not rest
    std::map<std::int64_t, std::int64_t> lost_;                  // and what did not complete
    bool loaded_ = false;

public:
    /// Brings them in line with the list. O(changes), the first time and after an error O(jobs). Errors: those of
    /// `job_store`. Precondition: all changes of the list are committed or rolled back.
    [[nodiscard]] result<void> refresh(job_store& store, clock_reading const& now);
    /// The ms since the boot from which another one may start; 0: none waits for a time alone.
    [[nodiscard]] std::int64_t next_ms() const noexcept { return resting_.empty() ? 0 : resting_.begin()->first; }
    [[nodiscard]] std::vector<lost_job> lost() const;
    /// The ms until its next launch may be, after one that failed; 0: now.
    [[nodiscard]] std::int64_t rest_left_ms(std::int64_t job, std::int64_t boot_ms) const;
    /// `running`: jobs in the run by tenant.
    [[nodiscard]] start_order order(std::map<std::string, double> const& running,
                                    std::function<double(std::string_view)> const& share_of) const;
    /// The jobs before this one in an order that was made now; none: it is not in the order.
    [[nodiscard]] std::optional<std::size_t> jobs_before(std::int64_t job, start_order const& order) const;

private:
    [[nodiscard]] result<void> load(job_store& store, clock_reading const& now);
    [[nodiscard]] result<void> read_again(job_store& store, std::int64_t id, clock_reading const& now);
    [[nodiscard]] result<void> add(job_store& store, brief_job job, clock_reading const& now);
    [[nodiscard]] std::int64_t due_of(brief_job const& job, clock_reading const& now);
    void remove(std::int64_t id);
};

}  // namespace ration::program
