// SPDX-License-Identifier: BSL-1.0
// Those of the forty that can be survived without a process of their own. What is missing here crashes, hangs or writes
// where it must not: tests/run/plugin_test.py shows all forty in a worker.
#include <map>

#include "loaded.hpp"

using namespace plugin_test;

// There with LeakSanitizer, else null.
extern "C" {
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
}

namespace {

[[nodiscard]] std::string misbehaving(int k) {
    return RATION_TEST_MISBEHAVING "/misbehaving_" + std::to_string(k) + ".so";
}

/// What the plugin leaks on purpose, a leak detector must not blame on the host.
class leaks_are_meant {
    bool reported_;

public:
    explicit leaks_are_meant(bool meant) : reported_(meant && __lsan_disable != nullptr) {
        if (reported_) __lsan_disable();
    }
    ~leaks_are_meant() {
        if (reported_) __lsan_enable();
    }
    leaks_are_meant(leaks_are_meant const&) = delete;
};

struct gpu_sample {
    bool any_fault = false, quarantined = false;
    std::string what;
    int ok = 0;
};

/// Eight ticks, with an engine's events for grants that are out of range.
[[nodiscard]] gpu_sample eight_ticks(int k) {
    loaded p(misbehaving(k), options(isolation::in_process));
    gpu_sample seen;
    for (int i = 0; i < 8; ++i) {
        if (p.tick() != status::ok) continue;
        ++seen.ok;
        for (std::size_t row = 0; row < p.rows; ++row)
            if (auto const& g = p.space[row]; g.job >= 3 || g.node >= 1 || g.amount < 0 || g.amount > max_amount) {
                event const refused{.kind = event_kind::grant_rejected};
                p.policy->on_events({&refused, 1});
                break;
            }
    }
    seen.any_fault = p.policy->last_fault().kind != plugin::fault_kind::none;
    seen.quarantined = p.policy->quarantined();
    seen.what = p.fault();
    return seen;
}

}  // namespace

TEST_CASE("in process: what is refused at load is refused with its reason", "[plugin][misbehaving]") {
    std::map<int, std::string> const refused{{4, "threw an exception"},
                                             {5, "replaced a signal handler"},
                                             {6, "changed the working directory"},
                                             {36, "ABI"},
                                             {37, "ABI minor"},
                                             {38, "layout"}};
    for (auto const& [k, subject] : refused) {
        INFO(k);
        CHECK(std::string(refusal(misbehaving(k), options(isolation::in_process)).subject.view()) == subject);
    }
    for (int const k : {39, 40})
        CHECK(refusal(misbehaving(k), options(isolation::in_process)).code == errc::invalid_value);
}

TEST_CASE("in process: a fault costs ticks, then the plugin its place, and never the host", "[plugin][misbehaving]") {
    std::map<int, std::string> const faults{{13, "threw an exception"},
                                            {19, "changed the floating-point modes"},
                                            {23, "granted what the rules do not allow"},
                                            {24, "granted what the rules do not allow"},
                                            {25, "granted what the rules do not allow"},
                                            {26, "granted what the rules do not allow"},
                                            {30, "says that it wrote more grants than there is space for"},
                                            {32, "changed a field of the answer that belongs to the host"}};
    for (auto const& [k, what] : faults) {
        INFO(k);
        auto const seen = eight_ticks(k);
        CHECK(seen.quarantined);
        CHECK(seen.what == what);
    }
}

TEST_CASE("in process: what a host cannot see does it no harm", "[plugin][misbehaving]") {
    for (int const k : {0, 2, 9, 10, 11, 12, 18, 29, 33, 34, 35}) {
        INFO(k);
        leaks_are_meant const until_its_end(k == 9);
        auto const seen = eight_ticks(k);
        CHECK_FALSE(seen.any_fault);
        CHECK(seen.ok == 8);
    }
}
