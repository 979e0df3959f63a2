// SPDX-License-Identifier: BSL-1.0
#include "run/tick_reporter.hpp"

#include <fmt/core.h>

#include <ration/estimators/bottleneck.hpp>

#include "common/error_text.hpp"
#include "policies/plugin_policy.hpp"

namespace ration::program {
namespace {

using estimators::bottleneck_kind;
using estimators::bottleneck_kinds;

/// The evidence, and what the user can change.
[[nodiscard]] std::string advice_on(bottleneck_kind kind, live_job const& job) {
    switch (kind) {
        case bottleneck_kind::none: break;
        case bottleneck_kind::exchange:
            return "it is slower than 0.9 of the sum of its devices; reduce the data that they exchange, or max of bounds.gpu";
        case bottleneck_kind::input:
            return "it uses less CPU than it could, as if it waited for input; load its data ahead, or reduce max of bounds.cpu";
        case bottleneck_kind::throttled:
            return fmt::format(
                "its limit of {} cores stops it for more than a tenth of the time; raise max of bounds.cpu",
                static_cast<double>(job.config->cpu.maximum) / 1000);
    }
    return {};
}

}  // namespace

void tick_reporter::emit_policy_log(nanoseconds now) {
    for (auto const& line : log_.take()) {
        auto const showing = filter_.classify(line);
        events_.emit(policy_logged{.policy = policy_name_,
                                   .level = name_of_level(line.level),
                                   .text = line.text,
                                   .for_people = showing != policy_log_filter::showing::no},
                     now);
        if (showing == policy_log_filter::showing::last)
            events_.print(fmt::format("more warnings of policy {} are in the event log only", policy_name_));
    }
}

void tick_reporter::emit(tick_report const& report, snapshot const& shown, nanoseconds took) {
    auto const left = jobs_.store().view();
    events_.emit(decision{.number = report.number,
                          .seed = report.number,
                          .budget = milliseconds(100),
                          .took = took,
                          .schema = jobs_.store().schema(),
                          .shown = &shown,
                          .left = &left,
                          .status = static_cast<int>(report.policy_status),
                          .grants = report.grants,
                          .fell_back = report.fell_back},
                 report.now);
    warn_of_policy(report);
    emit_changes(report, took);
    emit_deferred(report);
    print_bottlenecks();
    for (auto const& rejected : report.rejected)
        events_.emit(grant_rejected{.row = report.grants[rejected.row], .rule = rejected.rule, .detail = policy_name_},
                     report.now);
    for (auto const& failed : report.failed)
        events_.warn_once(
            jobs_.job(failed.grant.job).config->name,
            fmt::format("a limit could not be changed: {}{}", to_text(failed.failure.cause),
                        failed.failure.rolled_back ? "; the old one stays" : "; the old one could not be restored"),
            report.now);
}

void tick_reporter::warn_of_policy(tick_report const& report) {
    std::string const subject = "policy " + policy_name_;
    if (auto const trouble = trouble_of(policy_.chosen()); !trouble.empty())
        events_.warn_once(subject,
                          trouble + (policy_.replaced() ? fmt::format("; {} decides from now on", fallback_name_)
                                                        : "; the last good limits stay"),
                          report.now);
    else if (report.fell_back)
        events_.warn_once(subject,
                          fmt::format("its answer was refused (status {}); the last good limits stay",
                                      static_cast<int>(report.policy_status)),
                          report.now);
}

void tick_reporter::emit_changes(tick_report const& report, nanoseconds took) {
    for (auto const& change : report.changes) {
        auto const& job = jobs_.job(change.grant.job);
        waits_[job].reset();
        for (auto const& operation : report.operations.subspan(change.first_operation, change.operations))
            events_.emit(
                change_applied{
                    .job = job.config->name, .operation = operation, .took = took, .reason = reason(change.grant)},
                report.now);
    }
}

void tick_reporter::print_bottlenecks() {
    auto const& store = jobs_.store();
    auto const found = store.find<std::uint32_t>("jobs/bottleneck");
    if (!found) return;
    for (auto const& job : jobs_.jobs()) {
        if (!jobs_.arrived(job)) continue;
        std::uint32_t const value = store[*found][job.row];
        if (value >= bottleneck_kinds) continue;  // an estimator from a file can write any number
        auto const kind = static_cast<bottleneck_kind>(value);
        std::uint32_t const bit = 1U << value;
        if (kind == bottleneck_kind::none || (advised_[job] & bit) != 0) continue;
        advised_[job] |= bit;
        events_.print(fmt::format("advice: {}: {}", job.config->name, advice_on(kind, job)));
    }
}

void tick_reporter::emit_deferred(tick_report const& report) {
    for (auto const& [grant, why] : report.deferred) {
        auto const& job = jobs_.job(grant.job);
        if (waits_[job] == why) continue;
        waits_[job] = why;
        events_.emit(change_deferred{.job = job.config->name,
                                     .resource = standard_resources[static_cast<std::size_t>(grant.resource())].name,
                                     .amount = grant.amount(),
                                     .why = why},
                     report.now);
    }
}

}  // namespace ration::program
