// SPDX-License-Identifier: BSL-1.0
/// A synthetic cluster: tables with every standard column, and a ledger that grants change. `synthetic_life.hpp` lets
/// random jobs live in it; `ration check`, `ration bench` and the laws of Policy ask policies about it. It marks the
/// rows that it writes, for a host that follows their changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include <ration/detail/tenant_sums.hpp>
#include <ration/event.hpp>
#include <ration/host/grant_event.hpp>
#include <ration/host/holdings.hpp>
#include <ration/host/tenants.hpp>
#include <ration/policy.hpp>
#include <ration/testing/synthetic_columns.hpp>

namespace ration::testing {

/// The size of a synthetic cluster.
struct synthetic_shape {
    std::vector<per_resource<std::int64_t>> nodes;  ///< capacity of each
    std::size_t jobs = 1;                           ///< at most
    std::size_t holdings = 1;                       ///< at most without allocation
    std::uint32_t node_types = 1;                   ///< devices of type t are t + 1 times as fast as those of type 0
};

/// A root, to which a third of the jobs belongs, and two tenants below it.
[[nodiscard]] inline std::array<tenant_description, synthetic_tenants> tenants_for(synthetic_shape const& shape) {
    std::array<tenant_description, synthetic_tenants> all;
    for (std::size_t t = 0; t < all.size(); ++t) {
        all[t].id = t + 1;
        all[t].parent = t == 0 ? no_tenant : 0;
        all[t].weight = static_cast<double>(t + 1);
        for (std::size_t r = 0; r < std::size(standard_resources) && !shape.nodes.empty(); ++r)
            all[t].quota[r] = shape.nodes[0][r] / static_cast<std::int64_t>(t + 1);
    }
    return all;
}

class synthetic_cluster {
    snapshot_store store_;
    synthetic_columns columns_;
    ledger held_;
    ration::detail::tenant_sums tenants_;
    std::vector<synthetic_job> jobs_;  // by row
    std::vector<event> events_;
    nanoseconds now_{};

public:
    /// Columns are in `memory`, or on the heap when it is nullptr. Stops the program without memory for them.
    explicit synthetic_cluster(synthetic_shape const& shape, column_memory* memory = nullptr)
        : store_(memory), columns_(declared(store_, shape.node_types)) {
        // The largest size comes first, so that later ticks allocate nothing.
        std::size_t const nodes = shape.nodes.size();
        bool const sized = store_.resize(table_id::jobs, shape.jobs) && store_.resize(table_id::jobs, 0) &&
                           store_.resize(table_id::nodes, nodes);
        RATION_ASSERT(sized, "no memory for the tables of a synthetic cluster");
        jobs_.reserve(shape.jobs);
        ration::detail::reset(held_, columns_.standard, nodes, shape.holdings);
        for (std::size_t node = 0; node < nodes; ++node) {
            // A cluster of one node has the last type, so that policies see a type other than 0.
            store_.at(columns_.standard.get<"nodes/type">(), node) =
                static_cast<std::uint32_t>((node + 1) % shape.node_types);
            for (std::size_t r = 0; r < synthetic_resources.size(); ++r)
                store_.at(columns_.standard.resources[r].capacity, node) = shape.nodes[node][r];
        }
        show_free(held_, store_, columns_.standard);
        RATION_ASSERT(fill_tenants(store_, columns_.standard, tenants_for(shape)), "no memory for the tenants");
        tenants_.prepare(store_, columns_.standard, {.jobs = shape.jobs, .tenants = synthetic_tenants}, seconds(100),
                         true);
    }
    synthetic_cluster(synthetic_cluster const&) = delete;
    synthetic_cluster& operator=(synthetic_cluster const&) = delete;
    ~synthetic_cluster() = default;

    [[nodiscard]] snapshot_store& store() noexcept { return store_; }
    [[nodiscard]] snapshot_store const& store() const noexcept { return store_; }
    [[nodiscard]] standard_columns const& columns() const noexcept { return columns_.standard; }
    [[nodiscard]] ledger const& held() const noexcept { return held_; }
    /// In the order of their rows, which is that of their ids.
    [[nodiscard]] std::span<synthetic_job const> jobs() const noexcept { return jobs_; }
    [[nodiscard]] std::size_t nodes() const noexcept { return store_.rows(table_id::nodes); }
    [[nodiscard]] nanoseconds now() const noexcept { return now_; }
    [[nodiscard]] std::int64_t capacity(std::size_t node, resource_id r) const noexcept {
        return store_.at(columns_.of(r).capacity, node);
    }
    /// On all nodes together; `unlimited` if so on any.
    [[nodiscard]] std::int64_t held_by(std::size_t row, resource_id r) const noexcept {
        return store_.at(columns_.of(r).held, row);
    }

    void pass(nanoseconds time) noexcept { now_ = now_ + time; }
    void set_capacity(std::size_t node, resource_id r, std::int64_t amount) noexcept {
        store_.at(columns_.of(r).capacity, node) = amount;
        store_.changes().mark(table_id::nodes, node, capacity_columns);
    }

    /// Precondition: its id is above those of all jobs before it.
    void arrive(synthetic_job const& job) {
        std::size_t const row = jobs_.size();
        RATION_ASSERT(store_.resize(table_id::jobs, row + 1), "no memory for a job of a synthetic cluster");
        jobs_.push_back(job);
        columns_.show(store_, row, jobs_[row]);
        events_.push_back({event_kind::job_arrived, no_row, job.id, now_});
    }
    /// Replaces what the job in this row shows. Precondition: its id stays.
    void set(std::size_t row, synthetic_job const& job) noexcept {
        jobs_[row] = job;
        show(row);
    }
    /// The same for a job that has reached a tier.
    void change(std::size_t row, synthetic_job const& job) {
        set(row, job);
        events_.push_back({event_kind::job_changed, static_cast<std::uint32_t>(row), job.id, now_});
    }
    /// The job is over and holds nothing any more; its row stays. Precondition: `state` is done or failed.
    void end(std::size_t row, job_state state) {
        auto& job = jobs_[row];
        job.state = state;
        job.measured_steps_per_second = 0;
        held_.release({job.id});
        show(row);
        auto const kind = state == job_state::done ? event_kind::job_finished : event_kind::job_failed;
        events_.push_back({kind, static_cast<std::uint32_t>(row), job.id, now_});
    }
    /// Removes the rows for which `gone[row]` is true. Precondition: these jobs hold nothing.
    void erase(bool const* gone) noexcept {
        std::size_t kept = 0;
        for (std::size_t row = 0; row < jobs_.size(); ++row)
            if (!gone[row]) jobs_[kept++] = jobs_[row];
        jobs_.resize(kept);
        store_.erase_rows(table_id::jobs, gone);
    }

    /// Puts an amount into force that `check` has accepted, for the job in this row.
    void grant(setting const& what, std::uint32_t row) {
        if (held_.amount(what.job, what.node, what.resource) == what.amount) return;
        held_.set(what, now_);
        events_.push_back(event_of(event_kind::grant_applied, what, row, now_));
    }
    /// Brings the columns of holdings up to date. O(jobs + holdings + nodes).
    void show_held() noexcept {
        show_holdings(held_, store_, columns_.standard);
        tenants_.begin(store_, columns_.standard, now_);
    }
    /// The same in O(log jobs) for each grant, while no row and no capacity has changed since the last time; the sums
    /// of tenants stay.
    void show_granted() noexcept { show_changes(held_, store_, columns_.standard); }
    /// The sums of tenants, as of the last `show_held`; nullptr where none has a limit.
    [[nodiscard]] ration::detail::tenant_sums const* limits_of_tenants() const noexcept { return tenants_.limits_of(); }

    /// Events since `forget_events`. Rows are those of the jobs table before it.
    [[nodiscard]] std::span<event const> events() const noexcept { return events_; }
    void forget_events() noexcept { events_.clear(); }

    [[nodiscard]] tick_data data(std::uint64_t number, std::uint64_t seed) const noexcept {
        return {.number = number, .seed = seed, .now = now_, .budget = seconds(1), .data = store_.view()};
    }

private:
    static constexpr std::uint32_t no_row = 0xFFFFFFFF;

    void show(std::size_t row) noexcept {
        columns_.show(store_, row, jobs_[row]);
        store_.changes().mark(table_id::jobs, row, all_columns);
    }

    [[nodiscard]] static synthetic_columns declared(snapshot_store& store, std::uint32_t node_types) noexcept {
        auto made = synthetic_columns::declare(store, node_types);
        RATION_ASSERT(made, "no memory for the columns of a synthetic cluster");
        return *made;
    }
};

}  // namespace ration::testing
