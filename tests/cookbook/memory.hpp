// SPDX-License-Identifier: BSL-1.0
// Recipes of docs/cookbook.md that remember, and one that reads a column that only its own host supplies.
#pragma once

#include <tuple>
#include <utility>

#include <ration/column_adapter.hpp>
#include <ration/job_memory.hpp>
#include <ration/state.hpp>

#include "sharing.hpp"

namespace cookbook {

class half_for_the_stuck {
    // [memory]
    struct seen {
        double best = 0;
        ration::nanoseconds since{-1};  // when `best` was reached; -1: never looked

        static auto fields(auto& self) noexcept { return std::tie(self.best, self.since); }
        [[nodiscard]] bool sane() const noexcept { return ration::is_finite(best); }
    };
    ration::job_memory<seen> memory_;
    // [memory]
    std::size_t most_jobs_ = 0;

public:
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.half-for-the-stuck", .version = "1.0.0"};
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<double, "jobs/loss.best">,
                           in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "jobs/max.cpu">,
                           in<std::int64_t, "nodes/capacity.cpu">>;

    status prepare(ration::limits const& most) noexcept {
        memory_.reserve(most_jobs_ = most.jobs);
        return status::ok;
    }

    status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const best = t.get<"jobs/loss.best">();
        auto const state = t.get<"jobs/state">();
        auto const jobs = std::count_if(state.begin(), state.end(), runs);
        // [memory-tick]
        memory_.follow(t.get<"jobs/id">());  // jobs come and go, and rows move: memory goes with the id
        for (std::size_t row = 0; row < t.jobs() && t.nodes() > 0; ++row) {
            seen& s = memory_[row];
            if (s.since.count < 0 || best[row] < s.best) s = {best[row], t.now()};
            if (!runs(state[row])) continue;
            std::int64_t const share = t.get<"nodes/capacity.cpu">()[0] / jobs;
            bool const stuck = t.now() - s.since >= ration::seconds(60);
            std::int64_t const amount =
                accepted(stuck ? share / 2 : share, t.get<"jobs/min.cpu">()[row], t.get<"jobs/max.cpu">()[row]);
            if (!out.set(row, 0, resource_id::cpu, amount)) return status::capacity;
        }
        // [memory-tick]
        return status::ok;
    }

    // [state]
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        ration::state_writer out(space);
        memory_.save(out);
        return out.needed();
    }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        ration::state_reader from(saved);
        auto memory = ration::job_memory<seen>{};
        memory.reserve(most_jobs_);  // what `prepare` has reserved must not be lost
        if (!memory.load(from) || !from.finished()) return status::state;
        memory_ = std::move(memory);
        return status::ok;
    }
    // [state]
};
static_assert(ration::Policy<half_for_the_stuck> && ration::has_state<half_for_the_stuck>);

class earliest_due_first {
    ration::buffer<std::uint32_t> order_;

public:
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.earliest-deadline-first", .version = "1.0.0"};
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/due">, in<std::int64_t, "jobs/min.cpu">,
                in<std::int64_t, "jobs/max.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;

    status prepare(ration::limits const& most) noexcept {
        order_.reserve(most.jobs);
        return status::ok;
    }

    status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        auto const due = t.get<"jobs/due">();  // nanoseconds on the tick's clock; below 0: none
        order_.clear();
        for (std::uint32_t row = 0; row < t.jobs(); ++row)
            if (runs(t.get<"jobs/state">()[row])) order_.push_back(row);
        auto const first = [&](std::uint32_t a, std::uint32_t b) {
            // None is last
            auto const late_a = static_cast<std::uint64_t>(due[a]), late_b = static_cast<std::uint64_t>(due[b]);
            return late_a != late_b ? late_a < late_b : a < b;
        };
        std::sort(order_.begin(), order_.end(), first);
        std::int64_t left = t.get<"nodes/capacity.cpu">()[0];
        for (std::uint32_t const row : order_) {
            std::int64_t const given = accepted(left, t.get<"jobs/min.cpu">()[row], t.get<"jobs/max.cpu">()[row]);
            if (!out.set(row, 0, resource_id::cpu, given)) return status::capacity;
            left -= std::min(given, left);
        }
        return status::ok;
    }
};
static_assert(ration::Policy<earliest_due_first>);

}  // namespace cookbook
