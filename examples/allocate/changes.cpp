// SPDX-License-Identifier: BSL-1.0
// A scheduler with many jobs keeps its tables and marks the rows that it writes, so that a decision costs what has
// changed: allocate.changes [JOBS]. Each decision is compared with one of `ration::allocate`, which reads all jobs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <ration/policies/fifo.hpp>
#include <ration/ration.hpp>

namespace {

constexpr std::size_t nodes = 4, events = 20;
constexpr std::int64_t devices_of_a_node = 16;

// `fifo` reads no targets
auto const unused = *ration::two_tier_target::make({.acceptable = 2, .objective = 1});

/// A job as `ration::allocate` reads it.
struct training {
    std::uint64_t number = 0;
    std::int64_t devices = 1;

    using job_concept = ration::job_tag;
    [[nodiscard]] ration::job_id id() const noexcept { return {number}; }
    [[nodiscard]] ration::bounds bounds_of(ration::resource_id) const noexcept { return {}; }
    [[nodiscard]] ration::job_progress progress() const noexcept { return {}; }
    [[nodiscard]] ration::two_tier_target const& target() const noexcept { return unused; }
    using supplies = ration::columns<ration::from<std::int64_t, "jobs/request.gpu", &training::devices>>;
};

/// Takes the value of a call that fails only without memory.
template <class T>
T must(ration::result<T> made) {
    if (made) return *made;
    std::cerr << made.failure().operation << ": " << made.failure().remedy << '\n';
    std::exit(1);
}

/// The tables of a cluster, which stay between two decisions.
class kept_tables {
    ration::snapshot_store store_;
    ration::standard_columns columns_ = must(ration::standard_columns::declare(store_, ration::standard_resources));
    ration::column<std::int64_t> request_ = must(store_.declare<std::int64_t>("jobs/request.gpu"));
    ration::ledger held_;
    ration::policy_adapter<ration::policies::fifo> policy_;
    ration::checker checker_;
    ration::buffer<ration::checked_grant> granted_;
    ration::buffer<ration::rejection> rejected_;
    std::vector<ration::grant> space_;
    std::uint64_t number_ = 0;
    std::size_t ended_ = 0;

public:
    explicit kept_tables(std::size_t most_jobs) : space_(2 * most_jobs + 64) {
        ration::limits const most{.jobs = most_jobs, .nodes = nodes, .answer = space_.size()};
        if (!store_.resize(ration::table_id::nodes, nodes) || !policy_.bind(store_.schema(), most)) std::exit(1);
        for (std::int64_t& c : store_[of_gpu().capacity]) c = devices_of_a_node;
        held_.reset(nodes, columns_.resources.size(), space_.size());
        checker_.prepare(store_, columns_, ration::standard_resources, nodes, space_.size());
        // [follow]
        store_.changes().follow();  // from now on, this class marks each row that it writes
        // [follow]
    }

    // [events]
    void arrive(training const& job) {
        std::size_t const row = store_.rows(ration::table_id::jobs);
        if (!store_.resize(ration::table_id::jobs, row + 1)) std::exit(1);  // marks the new row
        store_.at(columns_.id, row) = job.number;                           // ids ascend
        store_.at(columns_.state, row) = static_cast<std::uint32_t>(ration::job_state::queued);
        store_.at(request_, row) = store_.at(of_gpu().maximum, row) = job.devices;
    }
    void depart(std::uint64_t number) {
        std::size_t const row = ration::row_of(store_, columns_, {number});
        store_.at(columns_.state, row) = static_cast<std::uint32_t>(ration::job_state::done);
        store_.changes().mark(ration::table_id::jobs, row, ration::state_columns);
        held_.release({number});
        if (4 * ++ended_ > store_.rows(ration::table_id::jobs)) erase_ended();  // amortised O(1) for each job
    }
    [[nodiscard]] std::span<ration::checked_grant const> decide() {
        ration::show_changes(held_, store_, columns_);
        ration::grants answer(space_);
        auto const reply = policy_.decide({.number = number_,
                                           .now = ration::seconds(static_cast<double>(number_)),
                                           .budget = ration::milliseconds(100),
                                           .data = store_.view(),
                                           .changes = store_.changes().view()},
                                          answer);
        ++number_;
        store_.changes().clear();
        if (reply != ration::status::ok) {
            store_.changes().mark_everything();
            return {};
        }
        checker_.check(held_, answer.rows(), granted_, rejected_);
        for (auto const& g : granted_) held_.set(g.what(), {});
        ration::show_changes(held_, store_, columns_);
        return {granted_.data(), granted_.size()};
    }
    // [events]

    /// The holdings of jobs, as `ration::allocate` takes them.
    [[nodiscard]] std::vector<ration::setting> held() const {
        std::vector<ration::setting> all;
        for (auto const& h : held_.all()) all.push_back(h.what);
        return all;
    }

private:
    [[nodiscard]] ration::resource_columns const& of_gpu() const {
        return columns_.resources[static_cast<std::size_t>(ration::resource_id::gpu)];
    }
    void erase_ended() {
        std::size_t const rows = store_.rows(ration::table_id::jobs);
        auto const gone = std::make_unique<bool[]>(rows);
        for (std::size_t row = 0; row < rows; ++row)
            gone[row] = store_.at(columns_.state, row) == static_cast<std::uint32_t>(ration::job_state::done);
        ration::show_changes(held_, store_, columns_);  // by the rows before they move
        store_.erase_rows(ration::table_id::jobs, gone.get());
        ended_ = 0;
    }
};

/// The cost of one decision, and whether it was the same from all rows.
class comparison {
    std::vector<double> kept_, all_;
    bool same_ = true;

public:
    void decide(kept_tables& tables, std::vector<training> const& jobs) {
        ration::capacities const machines[nodes] = {{.gpu = devices_of_a_node},
                                                    {.gpu = devices_of_a_node},
                                                    {.gpu = devices_of_a_node},
                                                    {.gpu = devices_of_a_node}};
        auto const before = tables.held();
        std::span<ration::checked_grant const> granted;
        kept_.push_back(microseconds([&] { granted = tables.decide(); }));
        if (jobs.size() > 1000 && kept_.size() % 8 != 1) return;  // it takes half a second for 100 000 jobs
        ration::policies::fifo fresh;
        ration::result<ration::allocation> full = ration::error{};
        all_.push_back(microseconds([&] { full = ration::allocate(fresh, jobs, machines, {.held = before}); }));
        same_ = same_ && full && std::ranges::equal(granted, full->granted, [](auto const& a, auto const& b) {
                    return a.job == b.job && a.node() == b.node() && a.amount() == b.amount();
                });
    }
    [[nodiscard]] bool is_same() const { return same_; }
    void report(bool with_times) {
        std::cout << kept_.size() << " decisions, of which " << all_.size() << " have "
                  << (same_ ? "the same" : "OTHER") << " grants as from all jobs\n";
        if (!with_times) return;
        for (auto* const times : {&kept_, &all_}) {
            std::ranges::sort(*times);
            std::cout << (times == &kept_ ? "from changes: " : "from all jobs: ") << (*times)[times->size() / 2]
                      << " us, median\n";
        }
    }

private:
    template <class Action>
    [[nodiscard]] static double microseconds(Action action) {
        auto const start = std::chrono::steady_clock::now();
        action();
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
};

}  // namespace

int main(int argc, char** argv) {
    std::size_t const count = argc > 1 ? std::stoul(argv[1]) : 100'000;
    std::vector<training> jobs;
    kept_tables tables(count + events);
    auto const arrive = [&](std::uint64_t number) {
        jobs.push_back({.number = number, .devices = 1 + static_cast<std::int64_t>(number % 8)});
        tables.arrive(jobs.back());
    };
    for (std::uint64_t number = 1; number <= count; ++number) arrive(number);
    comparison decisions;
    decisions.decide(tables, jobs);
    for (std::uint64_t i = 0; i < events; ++i) {  // one arrival, and one departure of a job that runs
        arrive(count + 1 + i);
        decisions.decide(tables, jobs);
        tables.depart(jobs.front().number);
        jobs.erase(jobs.begin());
        decisions.decide(tables, jobs);
    }
    decisions.report(argc <= 1 || count > 1000);
    return decisions.is_same() ? 0 : 1;
}
