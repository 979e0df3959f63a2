// SPDX-License-Identifier: BSL-1.0
// The scores are strict total orders over sets: irreflexive, asymmetric, transitive, and no two sets are equal. Sets of
// synthetic machines in synthetic states.
#include <compare>

#include "random_machine.hpp"
#include "support/catch.hpp"

using namespace synthetic;

namespace {

/// The laws over all pairs and triples of a sample of distinct candidates.
template <class Candidate>
void check_order(std::vector<Candidate> const& all) {
    auto const less = [](Candidate const& a, Candidate const& b) { return a < b; };
    for (Candidate const& a : all) {
        REQUIRE_FALSE(less(a, a));
        for (Candidate const& b : all) {
            if (&a != &b) REQUIRE(less(a, b) != less(b, a));  // asymmetric and total
            for (Candidate const& c : all)
                if (less(a, b) && less(b, c)) REQUIRE(less(a, c));
        }
    }
}

[[nodiscard]] gpu_market market_of(question const& q) {
    gpu_market out{
        .free = {}, .near_cores = std::vector<std::uint32_t>(q.on.where().nodes.size(), 2), .cores = q.wanted.cores};
    for (std::uint32_t i = 0; i < q.on.where().gpus.size(); ++i) out.free.push_back(!q.others.gpu(i));
    return out;
}

}  // namespace

TEST_CASE("sets of GPUs are strictly and totally ordered") {
    rng d(1);
    for (int round = 0; round < 40; ++round) {
        question const q(d);
        auto const market = market_of(q);
        gpu_chooser const chooser(q.on.where(), market);
        std::vector<gpu_choice> all;
        for (std::uint32_t bits = 1; bits < 1U << q.on.where().gpus.size(); bits += roll(d, 1, 12)) {
            gpu_choice one;
            for (std::uint32_t i = 0; i < q.on.where().gpus.size(); ++i)
                if ((bits >> i & 1U) != 0) one.gpus.push_back(i);
            one.score = chooser.score(one.gpus);
            all.push_back(one);
        }
        check_order(all);
    }
}

TEST_CASE("sets of cores are strictly and totally ordered") {
    rng d(2);
    for (int round = 0; round < 40; ++round) {
        question const q(d);
        auto const domains = q.on.map().domains();
        std::vector<std::uint32_t> free, own;
        for (core_domain const& one : domains) {
            auto const size = static_cast<std::uint32_t>(one.cores.size());
            free.push_back(roll(d, 0, size));
            own.push_back(roll(d, 0, size - free.back()));
        }
        core_chooser const chooser(q.on.map(), free, own, roll(d, 0, 1) == 0);
        std::vector<core_choice> all;
        for (int i = 0; i < 24; ++i) {
            core_choice one;
            for (std::uint32_t const most : free) one.take.push_back(roll(d, 0, most));
            one.score = chooser.score({.package = 0, .node = 0}, one.take);
            if (std::ranges::find(all, one.take, &core_choice::take) == all.end()) all.push_back(one);
        }
        check_order(all);
    }
}

TEST_CASE("the set of GPUs that is chosen is the best of all sets, where all can be looked at") {
    rng d(3);
    int sets = 0, best = 0;
    for (int round = 0; round < 400; ++round) {
        question q(d);
        q.has = {};
        if (q.wanted.gpus == 0) continue;
        auto const market = market_of(q);
        gpu_chooser const chooser(q.on.where(), market);
        gpu_choice least;
        for (std::uint32_t bits = 1; bits < 1U << q.on.where().gpus.size(); ++bits) {
            gpu_choice one;
            for (std::uint32_t i = 0; i < q.on.where().gpus.size(); ++i)
                if ((bits >> i & 1U) != 0) one.gpus.push_back(i);
            if (one.gpus.size() != q.wanted.gpus ||
                std::ranges::any_of(one.gpus, [&](std::uint32_t i) { return q.others.gpu(i); }))
                continue;
            one.score = chooser.score(one.gpus);
            if (least.gpus.empty() || one < least) least = one;
        }
        ++sets;
        best += chooser.grow({}, q.wanted.gpus) == least.gpus ? 1 : 0;
    }
    CAPTURE(sets, best);
    CHECK(sets > 150);
    CHECK(best * 100 >= sets * 95);  // links made up at random defeat a greedy search now and then
}
