// SPDX-License-Identifier: BSL-1.0
// A host with many jobs runs the engine and marks the rows that it writes, so that a tick costs what has changed:
// allocate.engine [JOBS]. A second engine, whose host marks no rows and so reads all of them, has to reach the same
// holdings.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <ration/host/engine.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/none.hpp>
#include <ration/sim/backend.hpp>

namespace {

constexpr std::size_t nodes = 4;
constexpr std::uint64_t events = 20;
constexpr std::int64_t devices_of_a_node = 16;

/// Takes the value of a call that fails only without memory.
template <class T>
T must(ration::result<T> made) {
    if (made) return *made;
    std::cerr << made.failure().operation << ": " << made.failure().remedy << '\n';
    std::exit(1);
}

/// A host: the tables, and an engine whose backend only records the changed jobs.
class host {
    ration::snapshot_store store_;
    ration::standard_columns columns_ = must(ration::standard_columns::declare(store_, ration::standard_resources));
    ration::column<std::int64_t> request_ = must(store_.declare<std::int64_t>("jobs/request.gpu"));
    ration::resource_columns const& gpu_ = columns_.resources[static_cast<std::size_t>(ration::resource_id::gpu)];
    ration::policy_adapter<ration::policies::fifo> policy_;
    ration::policy_adapter<ration::policies::none> fallback_;
    ration::sim::cluster_backend backend_;
    ration::engine<ration::sim::cluster_backend> engine_;
    std::vector<double> times_;  // us

public:
    host(std::size_t most_jobs, bool marks_rows)
        : backend_(most_jobs), engine_(backend_, policy_, fallback_, store_, columns_, ration::standard_resources, {}) {
        if (!store_.resize(ration::table_id::nodes, nodes)) std::exit(1);
        for (std::int64_t& c : store_[gpu_.capacity]) c = devices_of_a_node;
        if (marks_rows) store_.changes().follow();
        if (!engine_.bind({.jobs = most_jobs, .nodes = nodes, .answer = 2 * most_jobs + 64})) std::exit(1);
    }

    void arrive(std::uint64_t number) {
        std::size_t const row = store_.rows(ration::table_id::jobs);
        if (!store_.resize(ration::table_id::jobs, row + 1)) std::exit(1);  // marks the new row
        store_.at(columns_.id, row) = number;                               // ids ascend
        store_.at(request_, row) = store_.at(gpu_.maximum, row) = 1 + static_cast<std::int64_t>(number % 8);
    }
    void depart(std::uint64_t number) {
        std::size_t const row = ration::row_of(store_, columns_, {number});
        store_.at(columns_.state, row) = static_cast<std::uint32_t>(ration::job_state::done);
        store_.changes().mark(ration::table_id::jobs, row, ration::state_columns);
        engine_.release({number});
    }
    void tick() {
        auto const start = std::chrono::steady_clock::now();
        static_cast<void>(engine_.tick(ration::seconds(static_cast<double>(times_.size()))));
        times_.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
        backend_.forget_changes();
    }

    [[nodiscard]] std::vector<ration::setting> held() const {
        std::vector<ration::setting> all;
        for (auto const& h : engine_.holdings().all()) all.push_back(h.what);
        return all;
    }
    [[nodiscard]] double median() {
        std::ranges::sort(times_);
        return times_[times_.size() / 2];
    }
};

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t const count = argc > 1 ? std::stoul(argv[1]) : 100'000;
    host marks(count + events, true), reads_all(count + events, false);
    std::size_t ticks = 0, same = 0;
    auto const tick = [&] {
        for (host* one : {&marks, &reads_all}) one->tick();
        ++ticks;
        same += marks.held() == reads_all.held() && !marks.held().empty() ? 1 : 0;
    };
    for (std::uint64_t number = 1; number <= count; ++number)
        for (host* one : {&marks, &reads_all}) one->arrive(number);
    tick();
    for (std::uint64_t i = 1; i <= events;
         ++i) {  // one arrival, then departures of a job that runs and of one that waits
        for (host* one : {&marks, &reads_all}) one->arrive(count + i);
        tick();
        for (host* one : {&marks, &reads_all})
            for (std::uint64_t const number : {i, count + 1 - i}) one->depart(number);
        tick();
    }
    std::cout << ticks << " ticks, of which " << same << " lead to the same holdings as from all jobs\n";
    if (argc <= 1)
        std::cout << "from changes: " << marks.median() << " us, from all jobs: " << reads_all.median()
                  << " us, median\n";
    return ticks == same ? 0 : 1;
}
