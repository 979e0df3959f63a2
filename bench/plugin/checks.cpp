// SPDX-License-Identifier: BSL-1.0
#include "checks.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

#include "every_row.hpp"
#include "proof.hpp"
#include "scene.hpp"

namespace plugin_bench {
namespace {

/// Rows as a policy that goes through its jobs writes them, and in no order.
enum class order : bool { by_job, shuffled };

/// All jobs hold what they are granted; or none holds anything, and there is a little too little for the last one.
enum class room : bool { enough, for_all_but_one };

/// Again and again, as where nothing else has used the caches in between.
void check_alone(benchmark::State& state, std::size_t nodes, order rows_are, room there_is) {
    scene on(static_cast<std::size_t>(state.range(0)));
    policy_adapter<every_row> policy;
    need(policy.bind(on.store.schema(), on.most()));
    std::size_t const rows = on.ask(policy);
    need(on.store.resize(table_id::nodes, nodes));
    auto const capacity = on.columns.resources[0].capacity;
    for (std::size_t node = 1; node < nodes; ++node) on.store.at(capacity, node) = on.store.at(capacity, 0);
    for (std::size_t i = 0; i < rows; ++i) on.space[i].node = static_cast<std::uint32_t>(i * 7 % nodes);
    validation answer(on);
    if (there_is == room::for_all_but_one)
        on.store.at(capacity, 0) -= 1;
    else
        for (auto const& g : on.space)
            answer.held.set(
                {{on.store.at(on.columns.id, g.job)}, g.node, static_cast<resource_id>(g.resource), g.amount}, {});
    if (rows_are == order::shuffled) std::ranges::shuffle(on.space, std::minstd_rand(1));
    std::size_t const wanted = there_is == room::enough ? rows : rows - 1;
    std::size_t good = wanted;
    for (auto _ : state) good = answer.of(on.space);
    if (good != wanted) state.SkipWithError("a good grant was refused, or a bad one was not");
}

struct check_case {
    char const* name;
    std::size_t nodes;
    order rows_are;
    room there_is = room::enough;
};
constexpr check_case checks[] = {{"check", 1, order::by_job},
                                 {"check shuffled", 1, order::shuffled},
                                 {"check 128 nodes", 128, order::by_job},
                                 {"check 128 nodes shuffled", 128, order::shuffled},
                                 {"check beyond the capacity", 1, order::by_job, room::for_all_but_one}};

}  // namespace

void register_checks() {
    for (auto const& c : checks)
        benchmark::RegisterBenchmark(
            c.name, [=](benchmark::State& state) { check_alone(state, c.nodes, c.rows_are, c.there_is); })
            ->Arg(100)
            ->Arg(10000)
            ->Arg(100000)
            ->UseRealTime();
}

void print_checks(medians const& all) {
    std::printf("\nthe check alone, ns a grant %11s %11s %11s\n", "100 jobs", "10 000", "100 000");
    for (auto const& c : checks) {
        auto const of = [&](int jobs) { return all.of(std::string(c.name) + '/' + std::to_string(jobs)) / jobs; };
        std::printf("%-27s %11.2f %11.2f %11.2f\n", c.name, of(100), of(10000), of(100000));
    }
}

}  // namespace plugin_bench
