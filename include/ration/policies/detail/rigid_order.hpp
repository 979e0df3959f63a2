// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A division of all devices among rigid jobs in the order of the policy: `gittins`, `las`, `srtf`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/priority_order.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// The jobs that are to run after a division of all devices.
class job_choice {
    buffer<std::uint8_t> chosen_;  // by row

public:
    /// Allocates for this number of jobs.
    void reserve(std::size_t jobs) noexcept { chosen_.reserve(jobs); }
    /// Makes room for this number of rows, none of which is chosen.
    void begin(std::size_t rows) noexcept { chosen_.reset(rows); }
    /// Chooses the job if it wants devices and they are left. Returns the number that it takes.
    std::int64_t take(std::size_t row, std::int64_t wanted, std::int64_t left) noexcept {
        if (wanted <= 0 || wanted > left) return 0;
        chosen_[row] = 1;
        return wanted;
    }
    /// True after `take` has chosen the job.
    [[nodiscard]] bool has(std::size_t row) const noexcept { return chosen_[row] != 0; }
};

/// Sorts all jobs, runs the first ones and stops the others. O(jobs) if the order has changed little.
class rigid_order {
    priority_order order_;
    job_choice choice_;

public:
    /// Allocates for the largest tables.
    void reserve(limits const& most) noexcept {
        order_.reserve(most.jobs);
        choice_.reserve(most.jobs);
    }
    /// Runs the jobs in the order of their priorities, each that still fits; the others are
    /// stopped. `key(row)` is the `priority`. O(waiting jobs) if all fit.
    template <class Tick, class Key>
    void serve(Tick const& t, rigid_jobs& jobs, Key const& key) noexcept {
        if (jobs.all_fit()) return start_all(t, jobs);
        serve_chosen(t, jobs, key, [&](std::span<priority_order::entry const> order) noexcept {
            std::int64_t left = jobs.available();
            for (auto const& e : order) left -= choice_.take(e.row, jobs.wanted(e.row), left);
        });
    }
    /// Runs the jobs that `select(order)` takes into `choice`; the others are stopped. `order` has all rows.
    template <class Tick, class Key, class Select>
    void serve_chosen(Tick const& t, rigid_jobs& jobs, Key const& key, Select const& select) noexcept {
        choice_.begin(t.jobs());
        auto const order = order_.sort(t.template get<"jobs/id">(), key);
        select(order);
        // Stopped jobs first, so that their devices are free for the others.
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (!choice_.has(row) && jobs.held(row) > 0) jobs.stop(t, row);
        for (auto const& e : order)
            if (choice_.has(e.row) && jobs.waits(e.row)) static_cast<void>(jobs.start(t, e.row));
    }
    /// The jobs that `serve_chosen` runs.
    [[nodiscard]] job_choice& choice() noexcept { return choice_; }
};

}  // namespace ration::policies::detail
