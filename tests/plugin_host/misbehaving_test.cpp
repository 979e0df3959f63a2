// SPDX-License-Identifier: BSL-1.0
// The misbehaving plugins that can be survived without a process of their own. The others crash, hang or write where
// they must not: tests/run/plugin_test.py runs them in a worker.
#include <map>

#include "loaded.hpp"

using namespace plugin_test;

// There with LeakSanitizer, else null.
extern "C" {
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
}

namespace {

[[nodiscard]] std::string misbehaving(std::string_view name) {
    return std::string(RATION_TEST_MISBEHAVING "/misbehaving_").append(name).append(".so");
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
[[nodiscard]] gpu_sample eight_ticks(std::string_view name) {
    loaded p(misbehaving(name), options(isolation::in_process));
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
    std::map<std::string_view, std::string> const refused{{"throws_in_create", "threw an exception"},
                                                          {"replaces_signal_handler", "replaced a signal handler"},
                                                          {"changes_directory", "changed the working directory"},
                                                          {"has_another_abi", "ABI"},
                                                          {"needs_later_minor", "ABI minor"},
                                                          {"has_another_layout", "layout"}};
    for (auto const& [name, subject] : refused) {
        INFO(name);
        CHECK(std::string(refusal(misbehaving(name), options(isolation::in_process)).subject.view()) == subject);
    }
    for (auto const* name : {"has_absurd_table_size", "lacks_bind"})
        CHECK(refusal(misbehaving(name), options(isolation::in_process)).code == errc::invalid_value);
}

TEST_CASE("in process: a fault costs ticks, then the plugin its place, and never the host", "[plugin][misbehaving]") {
    std::map<std::string_view, std::string> const faults{
        {"throws_in_decide", "threw an exception"},
        {"changes_float_mode", "changed the floating-point modes"},
        {"grants_to_unknown_job", "granted what the rules do not allow"},
        {"grants_on_unknown_node", "granted what the rules do not allow"},
        {"grants_negative_amount", "granted what the rules do not allow"},
        {"grants_huge_amount", "granted what the rules do not allow"},
        {"counts_too_many_grants", "reports more grants than there is space for"},
        {"replaces_output", "changed a field of the answer that belongs to the host"}};
    for (auto const& [name, what] : faults) {
        INFO(name);
        auto const seen = eight_ticks(name);
        CHECK(seen.quarantined);
        CHECK(seen.what == what);
    }
}

TEST_CASE("in process: what a host cannot see does it no harm", "[plugin][misbehaving]") {
    for (std::string_view const name :
         {"none", "exports_too_much", "leaks_instance", "ignores_column_stride", "binds_without_columns",
          "aborts_on_unknown_event", "allocates_in_decide", "shares_state_of_instances", "overruns_save_buffer",
          "changes_state_in_save", "loads_damaged_state"}) {
        INFO(name);
        leaks_are_meant const until_its_end(name == "leaks_instance");
        auto const seen = eight_ticks(name);
        CHECK_FALSE(seen.any_fault);
        CHECK(seen.ok == 8);
    }
}
