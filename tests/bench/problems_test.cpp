// SPDX-License-Identifier: BSL-1.0
// The small problems of `ration bench`: that they are the same each time, and that what counts as the best answer is
// the best.
#include <algorithm>
#include <cmath>
#include <memory>

#include <ration/host/rng_sequence.hpp>
#include <ration/policies/detail/allocation_dp.hpp>
#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/fifo.hpp>

#include "bench/quality.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::bench;

namespace {

[[nodiscard]] measured_job job(double length, std::vector<double> steps_a_slot) {
    measured_job made;
    made.request = made.most = static_cast<std::int64_t>(steps_a_slot.size());
    made.length = length;
    for (std::size_t k = 1; k <= most_units; ++k)
        made.speed[k] = steps_a_slot[std::min(k, steps_a_slot.size()) - 1] / slot;
    return made;
}

[[nodiscard]] double of(values const& all, objective what) { return all[static_cast<std::size_t>(what)]; }

/// The largest sum by the allocator of the policies, which shares nothing with the search.
[[nodiscard]] double best_sum(instance const& on) {
    using namespace policies::detail;
    std::vector<double> table;
    std::vector<device_choice> choices;
    std::size_t const width = most_units + 1;
    for (auto const& one : on.jobs) {
        for (std::size_t k = 0; k < width; ++k) table.push_back(one.speed[k] / one.speed[1]);
        choices.push_back({.least = 0, .most = one.most});
    }
    allocation_dp dp;
    dp.reserve(choices.size(), static_cast<std::size_t>(on.units), table.size());
    return dp.solve(choices, on.units, value_table{table.data(), width}).worth;
}

template <class P>
[[nodiscard]] reached solved_by(std::span<instance const> all, shared what) {
    reached into;
    solve([] { return std::make_unique<policy_adapter<P>>(); }, all, what, false, into);
    return into;
}

}  // namespace

TEST_CASE("the problems come from the seed alone") {
    for (auto const what : {shared::devices, shared::cores}) {
        auto const first = instances_of(3, what), again = instances_of(3, what), other = instances_of(4, what);
        REQUIRE(first.size() == instance_count);
        auto const lengths = [](std::vector<instance> const& all) {
            std::vector<double> made;
            for (auto const& one : all)
                for (auto const& j : one.jobs) {
                    made.push_back(j.length);
                    made.insert(made.end(), j.speed.begin(), j.speed.end());
                }
            return made;
        };
        CHECK(lengths(first) == lengths(again));
        CHECK(lengths(first) != lengths(other));
    }
}

TEST_CASE("the best answers of a problem that can be solved by hand") {
    instance two{.units = 2, .jobs = {job(4, {4, 8}), job(8, {4, 8})}};
    two.jobs[0].tier = 1;
    auto const best = best_of(two, shared::devices);
    CHECK(of(best, objective::speedup) == 2);
    CHECK(of(best, objective::fairness) == 1);
    CHECK(of(best, objective::targets) == 2);       // both devices to the second job
    CHECK(of(best, objective::completion) == 1.5);  // the first is done after one slot, the second after two
    CHECK(of(best_of({.units = 3, .jobs = {job(4, {4, 8}), job(4, {4, 4})}}, shared::cores), objective::fairness) ==
          Approx(1));
    CHECK(of(best_of({.units = 3, .jobs = {job(4, {4, 8}), job(4, {4, 8})}}, shared::cores), objective::fairness) ==
          Approx(1.5));
}

TEST_CASE("no division is better than the best one") {
    rng_sequence any(5);
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        for (auto const what : {shared::devices, shared::cores})
            for (auto const& one : instances_of(seed, what)) {
                auto const best = best_of(one, what);
                CHECK(of(best, objective::speedup) == best_sum(one));
                for (int tries = 0; tries < 50; ++tries) {
                    double left = static_cast<double>(one.units), least = 1e9, sum = 0;
                    for (auto const& j : one.jobs) {
                        double const drawn = left * static_cast<double>(any.below(1001)) / 1000,
                                     units = what == shared::cores ? drawn : std::floor(drawn);
                        left -= units;
                        double const speedup = speed_at(j, units) / j.speed[1];
                        least = std::min(least, speedup);
                        sum += speedup;
                    }
                    CHECK(least <= of(best, objective::fairness) * (1 + 1e-12));
                    CHECK(sum <= of(best, objective::speedup) * (1 + 1e-12));
                }
            }
}

TEST_CASE("an exact policy reaches the best, and one that divides nothing does not") {
    auto const all = instances_of(1, shared::devices);
    auto const exact = solved_by<policies::elastic_batch_dp>(all, shared::devices),
               first = solved_by<policies::fifo>(all, shared::devices);
    REQUIRE(exact.instances == instance_count);
    std::size_t below = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const best = best_of(all[i], shared::devices);
        for (std::size_t o = 0; o < objective_count; ++o) {
            auto const what = static_cast<objective>(o);
            for (auto const& tried : {exact.on[i], first.on[i]})
                CHECK(share_of_best(what, of(tried, what), of(best, what)) <= 1);
        }
        CHECK(share_of_best(objective::speedup, of(exact.on[i], objective::speedup), of(best, objective::speedup)) ==
              1);
        CHECK(of(exact.on[i], objective::completion) >= of(best, objective::completion));
        below += of(first.on[i], objective::speedup) < of(best, objective::speedup);
    }
    CHECK(below > instance_count / 2);
    CHECK(exact.wrong.refused + exact.wrong.lost == 0);
}

TEST_CASE("jobs on cores get what they can use of their share") {
    std::vector<instance> const all{{.units = 3, .jobs = {job(4, {4, 8}), job(4, {4, 8})}}};
    auto const made = solved_by<policies::equal_share>(all, shared::cores);
    CHECK(of(made.on[0], objective::fairness) == Approx(1.5));
    CHECK(of(made.on[0], objective::completion) == 0);
}

TEST_CASE("a share of the best") {
    CHECK(share_of_best(objective::speedup, 1, 4) == 0.25);
    CHECK(share_of_best(objective::completion, 4, 1) == 0.25);
    CHECK(share_of_best(objective::completion, 0, 1) == 0);  // it never ended
    CHECK(share_of_best(objective::fairness, 1.0 / 3, 1.0 / 3 * (1 + 1e-15)) == 1);
    CHECK(std::isnan(share_of_best(objective::completion, 1, 0)));
}
