// SPDX-License-Identifier: BSL-1.0
#include "run/run_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sstream>
#include <utility>
#include <vector>

#include <ration/host/check_rule.hpp>
#include <ration/host/settle.hpp>

#include "common/printable.hpp"
#include "common/version_text.hpp"
#include "metrics/open_metrics.hpp"
#include "run/job_metrics.hpp"

namespace ration::program {
namespace {

using prometheus::Counter;
using prometheus::Registry;

/// From a tenth of a millisecond, which is what a tick of a few jobs takes, to a second.
prometheus::Histogram::BucketBoundaries const tick_bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                          0.01,   0.025,   0.05,   0.1,   0.25,   1.0};

[[nodiscard]] Counter& counter(Registry& all, char const* name, char const* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(all).Add({});
}

void constant(Registry& all, char const* name, char const* help, double value, prometheus::Labels const& labels = {}) {
    prometheus::BuildGauge().Name(name).Help(help).Register(all).Add(labels).Set(value);
}

}  // namespace

/// Counters of one family, one for each value of the label `reason`. All are there from the start, so that a rate has
/// something to start from.
template <class Enum>
class reason_counters {
    std::vector<std::pair<Enum, Counter*>> all_;

public:
    reason_counters(Registry& registry, char const* name, char const* help, Enum first, Enum last) {
        auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
        for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
            auto const reason = static_cast<Enum>(i);
            all_.emplace_back(reason, &family.Add({{"reason", std::string(name_of(reason))}}));
        }
    }

    void count(Enum reason) const {
        for (auto const& [which, counter] : all_)
            if (which == reason) counter->Increment();
    }
};

/// Counters and histograms do not allocate when they count.
struct run_metrics::counted {
    Registry registry{Registry::InsertBehavior::Throw};
    Counter& ticks = counter(registry, "ration_ticks_total", "Decisions that the policy was asked for");
    prometheus::Histogram& tick_seconds =
        prometheus::BuildHistogram()
            .Name("ration_tick_duration_seconds")
            .Help("Time that a decision took, from looking at the machine to the last change of a limit")
            .Register(registry)
            .Add({}, tick_bounds);
    Counter& grants = counter(registry, "ration_grants_total", "Grants that the policy answered with");
    Counter& changes = counter(registry, "ration_changes_total", "Operations on limits of jobs that were carried out");
    reason_counters<check_rule> rejected{registry, "ration_grants_rejected_total",
                                         "Grants that were refused, by the rule that they break",
                                         check_rule::unknown_job, check_rule::over_tenant_limit};
    reason_counters<deferral> deferred{registry, "ration_grants_deferred_total",
                                       "Grants that began to wait, by what they wait for", deferral::dead_band,
                                       deferral::no_room};
    Counter& fallbacks =
        counter(registry, "ration_fallback_answers_total",
                "Decisions in which the policy's answer was refused as a whole, so that the last good limits stayed");

    explicit counted(run_started const& run) {
        constant(registry, "ration_build_info", "The version of ration; always 1", 1, {{"version", version_text()}});
        constant(registry, "ration_run_info", "The policy of this run, and the process it is in; always 1", 1,
                 {{"policy", printable(run.policy)},
                  {"policy_version", printable(run.policy_version)},
                  {"isolation", std::string(run.isolation)}});
        constant(registry, "ration_run_start_time_seconds", "When the run started, since 1970",
                 static_cast<double>(run.unix_time));
        constant(registry, "ration_run_cores", "Cores that the jobs share", run.cpus);
    }

    void count(decision const& e) {
        ticks.Increment();
        tick_seconds.Observe(to_seconds(e.took));
        grants.Increment(static_cast<double>(e.grants.size()));
        if (e.fell_back) fallbacks.Increment();
    }
    void count(change_applied const&) { changes.Increment(); }
    void count(change_deferred const& e) { deferred.count(e.why); }
    void count(grant_rejected const& e) { rejected.count(e.rule); }
    void count(auto const&) {}
};

run_metrics::run_metrics() = default;
run_metrics::run_metrics(run_metrics&&) noexcept = default;
run_metrics::~run_metrics() = default;

void run_metrics::emit(event const& e) {
    if (auto const* const begin = std::get_if<run_started>(&e.body)) counted_ = std::make_unique<counted>(*begin);
    if (counted_) std::visit([this](auto const& body) { counted_->count(body); }, e.body);
}

std::string run_metrics::page(run_state const& now, bool open_metrics) const {
    std::vector<prometheus::MetricFamily> families;
    if (counted_) families = counted_->registry.Collect();
    collect_messages(families, now.messages, now.lost_events);
    collect_devices(families, now.cordoned_devices);
    collect_jobs(families, now.board, now.progress, now.usage);
    return open_metrics ? open_metrics_serializer().Serialize(families)
                        : prometheus::TextSerializer().Serialize(families);
}

}  // namespace ration::program
