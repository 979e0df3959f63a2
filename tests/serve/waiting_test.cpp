// SPDX-License-Identifier: BSL-1.0
// The queued jobs in memory, compared with a recomputation of all jobs in the list after each change.
#include <algorithm>
#include <cmath>
#include <vector>

#include <ration/host/rng_sequence.hpp>

#include "serve/waiting_jobs.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace ration;
using namespace ration::program;
using ids = std::vector<std::int64_t>;

[[nodiscard]] double share_of(std::string_view tenant) { return tenant == "b" ? 3 : 1; }

/// Jobs of three tenants in a list on the disk; two jobs of "a" are in the run.
struct world {
    temporary_folder folder;
    job_store store;
    waiting_jobs waiting;
    rng_sequence rng;
    std::map<std::string, double> const running{{"a", 2}};
    std::int64_t now = 1, submitted = 0;

    explicit world(std::uint64_t seed) : store(open(folder)), rng(seed) {}

    [[nodiscard]] static job_store open(temporary_folder const& in) {
        auto made = job_store::open(in.path + "/jobs.db", 1);
        REQUIRE(made);
        return std::move(made).value();
    }

    void submit() {
        submission what{.uid = 1,
                        .tenant = std::string(1, static_cast<char>('a' + rng.below(3))),
                        .key = std::to_string(submitted++),
                        .name = "job",
                        .definition = "[[job]]",
                        .directory = "/",
                        .environment = {},
                        .priority = static_cast<std::int64_t>(rng.below(3)) - 1,
                        .after = {}};
        auto const others = all();
        for (auto n = others.empty() ? 0 : rng.below(3); n > 0; --n)
            what.after.push_back(others[rng.below(others.size())].id);
        REQUIRE(store.submit(what, now));
    }

    void change(stored_job const& job) {
        if (rng.below(3) == 0) return static_cast<void>(store.note(job.id, wish::paused, !job.paused));
        stage_change change{.job = job.id, .at_ms = now, .why = {}, .end = {}, .boot = {}};
        bool const again = job.now != stage::queued && rng.below(2) == 0;
        change.to = again ? stage::queued : static_cast<stage>(rng.below(stage_names.size()));
        if (change.to == stage::queued) change.rest_ms = static_cast<std::int64_t>(rng.below(20));
        static_cast<void>(store.advance(change));  // refused, where it may not follow
    }

    /// One of the things that happen to a list.
    void step() {
        now += static_cast<std::int64_t>(rng.below(2));
        auto const jobs = all();
        if (jobs.empty() || rng.below(4) == 0)
            submit();
        else
            change(jobs[rng.below(jobs.size())]);
    }

    void end_transaction() {
        if (rng.below(3) == 0) return store.roll_back();
        REQUIRE(store.commit());
    }

    [[nodiscard]] std::vector<stored_job> all() {
        auto found = store.all();
        REQUIRE(found);
        return std::move(found).value();
    }

    [[nodiscard]] ids order() const {
        auto const view = waiting.order(running, share_of);
        ids out;
        for (auto rest = view;;) {
            auto const next = rest.next();
            if (!next) return out;
            out.push_back(*next);
        }
    }

    /// By sorting all jobs that may start: by priority, turn of the tenant, and id.
    [[nodiscard]] ids expected_order() {
        std::vector<stored_job> due;
        for (auto& job : all())
            if (job.now == stage::queued && !job.paused && job.not_before_ms <= now && open_predecessors(job).empty())
                due.push_back(std::move(job));
        std::ranges::stable_sort(due, std::ranges::greater{}, [](auto const& job) { return job.what.priority; });
        auto jobs = running;
        std::vector<std::tuple<std::int64_t, double, std::int64_t>> order;
        for (auto const& job : due)
            order.emplace_back(-job.what.priority, ++jobs[job.what.tenant] / share_of(job.what.tenant), job.id);
        std::ranges::sort(order);
        ids out;
        for (auto const& [priority, turn, id] : order) out.push_back(id);
        return out;
    }

    [[nodiscard]] ids open_predecessors(stored_job const& job) {
        ids out;
        for (auto const id : job.what.after)
            if (auto const other = store.find(id); !*other || (*other)->now != stage::completed) out.push_back(id);
        return out;
    }

    [[nodiscard]] ids expected_lost() {
        ids out;
        for (auto const& job : all())
            if (job.now == stage::queued && std::ranges::any_of(open_predecessors(job), [&](std::int64_t id) {
                    auto const other = store.find(id);
                    return !*other || is_final((*other)->now);
                }))
                out.push_back(job.id);
        return out;
    }

    [[nodiscard]] std::int64_t expected_time() {
        std::int64_t first = 0;
        for (auto const& job : all())
            if (job.now == stage::queued && !job.paused && job.not_before_ms > now && open_predecessors(job).empty())
                first = first == 0 ? job.not_before_ms : std::min(first, job.not_before_ms);
        return first;
    }
};

}  // namespace

TEST_CASE("the order of starts, jobs that can never start and the next time are those of the whole list") {
    std::size_t starts = 0, lost = 0, times = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        world w(seed);
        for (int i = 0; i < 150; ++i) {
            w.step();
            if (w.rng.below(3) != 0) continue;
            w.end_transaction();
            INFO("seed " << seed << ", step " << i);
            REQUIRE(w.waiting.refresh(w.store, {w.now, w.now}));
            auto const order = w.order();
            REQUIRE(order == w.expected_order());
            auto const view = w.waiting.order(w.running, share_of);
            for (auto const& job : w.all()) {
                auto const at = std::ranges::find(order, job.id);
                auto const before = w.waiting.jobs_before(job.id, view);
                REQUIRE(before.has_value() == (at != order.end()));
                if (before) REQUIRE(static_cast<std::ptrdiff_t>(*before) == at - order.begin());
            }
            ids hopeless;
            for (auto const& one : w.waiting.lost()) hopeless.push_back(one.job);
            REQUIRE(hopeless == w.expected_lost());
            REQUIRE(w.waiting.next_ms() == w.expected_time());
            starts += order.size();
            lost += hopeless.size();
            times += w.waiting.next_ms() != 0;
        }
    }
    CHECK(starts > 1000);
    CHECK(lost > 100);
    CHECK(times > 10);
}

TEST_CASE("a rest is as long as it was, whatever the wall clock shows meanwhile") {
    world w(1);
    w.submit();
    REQUIRE(w.store.advance({.job = 1, .to = stage::pending, .at_ms = 1'000, .why = {}, .end = {}, .boot = {}}));
    stage_change again{.job = 1, .to = stage::queued, .at_ms = 1'000'000, .why = {}, .end = {}, .boot = {}};
    again.rest_ms = 500;
    REQUIRE(w.store.advance(again));
    REQUIRE(w.store.commit());
    REQUIRE(w.waiting.refresh(w.store, {1'000'000, 70}));
    CHECK(w.waiting.next_ms() == 570);
    // An hour back, and a year ahead, also when the row is read again
    for (std::int64_t const wall : {std::int64_t{-2'600'000}, std::int64_t{31'536'000'000}}) {
        REQUIRE(w.store.note(1, wish::paused, false));
        REQUIRE(w.store.commit());
        REQUIRE(w.waiting.refresh(w.store, {wall, 80}));
        CHECK(w.waiting.next_ms() == 570);
        CHECK(w.waiting.rest_left_ms(1, 80) == 490);
    }
    REQUIRE(w.waiting.refresh(w.store, {1'000, 570}));
    CHECK(w.order() == ids{1});
    // After a restart with a clock that was set back
    waiting_jobs later;
    REQUIRE(later.refresh(w.store, {1'000, 20}));
    CHECK(later.next_ms() == 520);
}
