// SPDX-License-Identifier: BSL-1.0
// The indexes by which policies follow changes, each against a plain search over all rows.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <ration/policies/detail/crossing_times.hpp>
#include <ration/policies/detail/free_nodes.hpp>
#include <ration/policies/detail/ranked_jobs.hpp>
#include <ration/policies/detail/row_set.hpp>

#include "random.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::policies::detail;

TEST_CASE("row_set: agrees with std::set, over words and summaries", "[indexes]") {
    unit::rng random(1);
    for (std::size_t const most : {1u, 64u, 65u, 5000u, 300'000u, 20'000'000u}) {
        row_set set;
        set.reset(random.one_in(2) ? most : 1);  // rows above the number are accepted
        std::set<std::size_t> model;
        for (int i = 0; i < 3000; ++i) {
            std::size_t const row = random.below(random.one_in(2) ? most : most < 200 ? most : 200);
            bool const in = random.one_in(2);
            set.set(row, in);
            in ? static_cast<void>(model.insert(row)) : static_cast<void>(model.erase(row));
            REQUIRE(set.size() == model.size());
            REQUIRE(set.contains(row) == in);
            std::size_t const from = random.below(most + 70);
            auto const next = model.lower_bound(from);
            REQUIRE(set.next(from) == (next == model.end() ? row_set::none : *next));
        }
    }
}

namespace {

using allowed_nodes = std::vector<bool>;

[[nodiscard]] std::size_t tightest(std::vector<std::int64_t> const& free, std::int64_t amount,
                                   allowed_nodes const& allowed) {
    std::size_t found = free_nodes::nowhere;
    for (std::size_t node = 0; node < free.size(); ++node)
        if (allowed[node] && free[node] >= amount && (found == free_nodes::nowhere || free[node] < free[found]))
            found = node;
    return found;
}
[[nodiscard]] std::size_t emptiest(std::vector<std::int64_t> const& free, allowed_nodes const& allowed) {
    std::size_t found = free_nodes::nowhere;
    for (std::size_t node = 0; node < free.size(); ++node)
        if (allowed[node] && free[node] > 0 && (found == free_nodes::nowhere || free[node] > free[found])) found = node;
    return found;
}

}  // namespace

TEST_CASE("free_nodes: best and worst fit are those of a search over all nodes", "[indexes]") {
    unit::rng random(2);
    for (std::size_t const size : {1u, 5u, 70u, 200u}) {
        free_nodes nodes;
        nodes.reset(size);
        std::vector<std::int64_t> free(size);
        allowed_nodes allowed(size);
        std::int64_t sum = 0;
        for (int i = 0; i < 4000; ++i) {
            std::size_t const node = random.below(size);
            // Also beyond the sets, and overdrawn
            free[node] = static_cast<std::int64_t>(random.below(random.one_in(3) ? 100 : 6)) - 2;
            nodes.set(node, free[node]);
            for (std::size_t n = 0; n < size; ++n) allowed[n] = !random.one_in(4);
            auto const is_allowed = [&](std::size_t n) { return static_cast<bool>(allowed[n]); };
            sum = 0;
            for (auto const f : free) sum += std::max<std::int64_t>(f, 0);
            REQUIRE(nodes.sum() == sum);
            REQUIRE(nodes.is_overdrawn() == std::ranges::any_of(free, [](std::int64_t f) { return f < 0; }));
            auto const amount = 1 + static_cast<std::int64_t>(random.below(random.one_in(3) ? 90 : 8));
            REQUIRE(nodes.tightest(amount, is_allowed) == tightest(free, amount, allowed));
            REQUIRE(nodes.emptiest(is_allowed) == emptiest(free, allowed));
        }
    }
}

TEST_CASE("crossing_times: gives a row whose time has come, and none before", "[indexes]") {
    unit::rng random(3);
    crossing_times times;
    CHECK(times.due(seconds(1)) == crossing_times::none);
    for (std::size_t const size : {1u, 7u, 64u, 100u}) {
        times.reset(size);
        std::vector<std::int64_t> model(size, crossing_times::never.count);
        for (int i = 0; i < 2000; ++i) {
            std::size_t const row = random.below(size);
            model[row] = random.one_in(4) ? crossing_times::never.count : static_cast<std::int64_t>(random.below(1000));
            times.set(row, {model[row]});
            std::int64_t const earliest = *std::ranges::min_element(model);
            std::size_t const due = times.due({earliest});
            if (earliest == crossing_times::never.count) continue;
            REQUIRE(due < size);
            REQUIRE(model[due] == earliest);
            REQUIRE(times.due({earliest - 1}) == crossing_times::none);
        }
    }
}

namespace {

struct model_job {
    priority key;
    ranked_job job;
};

/// The jobs in a plain list.
class ranked_model {
    std::vector<model_job> rows_;

public:
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    void grow(std::size_t rows) { rows_.resize(rows); }
    void put(std::size_t row, priority const& key, ranked_job const& job) { rows_[row] = {key, job}; }

    struct calls {
        std::vector<std::uint32_t> stopped, started;
        friend bool operator==(calls const&, calls const&) = default;
    };
    [[nodiscard]] calls divide(std::int64_t devices) const {
        std::vector<std::uint32_t> order;
        for (std::uint32_t row = 0; row < rows_.size(); ++row)
            if (rows_[row].job.wanted > 0) order.push_back(row);
        std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
            auto const &x = rows_[a].key, &y = rows_[b].key;
            return x.first != y.first ? x.first < y.first : x.second < y.second;
        });
        calls made;
        for (std::uint32_t const row : order) {
            auto const& job = rows_[row].job;
            if (job.wanted > devices) {
                if (job.holds) made.stopped.push_back(row);
                continue;
            }
            devices -= job.wanted;
            if (job.lacks) made.started.push_back(row);
        }
        return made;
    }
    /// Removes some rows; returns the new row of each.
    [[nodiscard]] std::vector<std::uint32_t> remove(unit::rng& random) {
        std::vector<std::uint32_t> rows;
        std::vector<model_job> kept;
        for (auto const& job : rows_) {
            bool const goes = random.one_in(5);
            rows.push_back(goes ? 0xFFFF'FFFF : static_cast<std::uint32_t>(kept.size()));
            if (!goes) kept.push_back(job);
        }
        rows_ = kept;
        return rows;
    }
};

[[nodiscard]] ranked_model::calls divided(ranked_jobs const& jobs, std::int64_t devices) {
    ranked_model::calls made;
    jobs.divide(
        devices, [&](std::uint32_t row) { made.stopped.push_back(row); },
        [&](std::uint32_t row) { made.started.push_back(row); });
    return made;
}

}  // namespace

TEST_CASE("ranked_jobs: divides devices as a sorted list does, through any history", "[indexes]") {
    unit::rng random(4);
    ranked_jobs jobs;
    jobs.reserve(400);
    ranked_model model;
    for (int i = 0; i < 6000; ++i) {
        if (model.size() < 300 && random.one_in(10)) {
            jobs.grow(model.size() + 1);
            model.grow(model.size() + 1);
        }
        if (random.one_in(200)) {
            auto const rows = model.remove(random);
            jobs.move_rows(rows, model.size());
        }
        if (model.size() == 0) continue;
        std::size_t const row = random.below(model.size());
        priority const key{static_cast<double>(random.below(3)), static_cast<std::int64_t>(random.below(20))};
        ranked_job const job{
            .wanted = static_cast<std::int64_t>(random.below(9)), .holds = random.one_in(2), .lacks = random.one_in(2)};
        jobs.put(row, key, job);
        model.put(row, key, job);
        auto const devices = static_cast<std::int64_t>(random.below(1000));
        REQUIRE(divided(jobs, devices) == model.divide(devices));
    }
}
