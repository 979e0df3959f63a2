// SPDX-License-Identifier: BSL-1.0
// Over a simulated life with faults, a plugin in a worker answers as the class and as the plugin in this process do.
// The worker's columns are copied to it row by row, as the host lists them.
#include <algorithm>
#include <csignal>

#include <ration/policies/fifo.hpp>
#include <ration/policies/las.hpp>
#include <ration/sim/generator.hpp>

#include "loaded.hpp"
#include "simulation/world.hpp"

using namespace plugin_test;

namespace {

/// Asks a class and plugins of the same policy; the answer is that of the class.
class compared final : public any_policy {
    any_policy& reference_;
    std::vector<plugin::guarded_policy*> others_;
    std::uint64_t kill_at_;  // the tick before which the worker is killed
    std::vector<grant> space_;

public:
    std::uint64_t differing = 0, lists = 0, failures = 0;

    compared(any_policy& reference, std::vector<plugin::guarded_policy*> others, std::uint64_t kill_at)
        : reference_(reference), others_(std::move(others)), kill_at_(kill_at) {}

    [[nodiscard]] meta const& about() const noexcept override { return reference_.about(); }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return reference_.reads(column); }
    [[nodiscard]] bool follows_changes() const noexcept override { return true; }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        space_.resize(most.grants());
        for (auto* const p : others_)
            if (auto const bound = p->bind(schema, most); !bound) return bound;
        return reference_.bind(schema, most);
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        lists += t.changes[0]->everything == 0;
        auto const reply = reference_.decide(t, out);
        for (auto* const p : others_) {
            bool const kills = p == others_.back() && t.number == kill_at_;
            if (kills) ::kill(static_cast<plugin::worker_policy&>(p->policy()).pid(), SIGKILL);
            grants answer(space_);
            // A worker that starts again takes a moment
            int const tries = kills ? 1 : 5000;
            auto other = p->decide(t, answer);
            for (int i = 1; i < tries && other != status::ok; ++i) {
                ::usleep(1000);
                answer.clear();
                other = p->decide(t, answer);
            }
            failures += other != status::ok;
            if (other != status::ok) return other;
            differing += !std::ranges::equal(answer.rows(), out.rows());
        }
        return reply;
    }
    void on_events(std::span<event const> events) noexcept override {
        reference_.on_events(events);
        for (auto* const p : others_) p->on_events(events);
    }
};

template <class P>
void check_same_answers(P const& made, std::string const& path, std::string_view config, std::uint64_t seed) {
    auto const jobs =
        sim::make_rigid({.seed = seed, .jobs = 100, .jobs_per_hour = 100}, {.most_devices = 8, .longest = 20'000});
    std::vector<sim::fault> faults;
    for (int i = 0; i < 12; ++i) {
        auto const node = static_cast<std::uint32_t>(i % 3);
        double const at = 1200.0 * i;
        faults.push_back({.at = seconds(at), .what = sim::fault_kind::node_lost, .node = node});
        faults.push_back({.at = seconds(at + 700), .what = sim::fault_kind::node_back, .node = node});
    }
    auto in_process = unit::must(plugin::open(path, options(isolation::in_process, config)));
    auto worker = unit::must(plugin::open(path, options(isolation::worker, config)));
    policy_adapter<P> reference(made);
    compared policy(reference, {in_process.get(), worker.get()}, 40);
    policy_adapter<policies::fifo> fallback;
    auto const machines = simulation_test::nodes_of(4, 4);
    sim::simulation run(jobs, machines, policy, fallback, {.interval = {}, .faults = faults});
    auto const outcome = run.run();
    REQUIRE(outcome);
    CHECK(outcome->how == sim::ending::all_done);
    CHECK(policy.lists > 100);
    CHECK(policy.failures == 1);
    CHECK(policy.differing == 0);
}

}  // namespace

TEST_CASE("worker_policy: the list of changes gives the answers of the class over a simulated life", "[changes]") {
    for (std::uint64_t const seed : {1, 2}) {
        CAPTURE(seed);
        check_same_answers(policies::fifo{}, RATION_TEST_FIFO, "", seed);
        check_same_answers(policies::las{}, RATION_TEST_LAS, "", seed);
    }
}
