// SPDX-License-Identifier: BSL-1.0
#include <cmath>
#include <fmt/format.h>

#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "view/job_text.hpp"
#include "view/view.hpp"

namespace ration::program {

namespace {

/// " (text)", or nothing.
[[nodiscard]] std::string cordoned(std::string_view text) { return text.empty() ? "" : fmt::format(" ({})", text); }

[[nodiscard]] std::string with_reason(std::string_view reply, std::string_view why) {
    return why.empty() ? std::string(reply) : fmt::format("{}: {}", reply, why);
}

[[nodiscard]] std::string sentence(run_started const& e) {
    std::string controls;
    for (auto const& c : e.controls)
        controls += fmt::format("{}{} by {}{}", controls.empty() ? ": " : ", ", c.resource, c.backend,
                                c.approximate.empty() ? "" : ", approximate");
    std::string const devices =
        e.devices.empty() ? "" : fmt::format(" and {} device{}", e.devices.size(), e.devices.size() == 1 ? "" : "s");
    return fmt::format("policy {}{} shares {} core{}{}{}", e.policy,
                       e.isolation == "in-process" ? " (in this process)" : "", e.cpus, e.cpus == 1 ? "" : "s", devices,
                       controls);
}

[[nodiscard]] std::string sentence(job_started const& e) {
    std::string const share = e.percent > 0 ? fmt::format(", with {} % of its GPU", e.percent) : "";
    return fmt::format("{} started as process {}{}{}", e.job, e.pid,
                       e.incarnation > 1 ? fmt::format(", incarnation {}", e.incarnation) : "", share);
}

[[nodiscard]] std::string sentence(tier_reached const& e) {
    return fmt::format("{} reached {} after {}, with {:.4g} at step {}", e.job, tier_name(e.tier),
                       duration_text(e.after), e.value, e.step);
}

[[nodiscard]] std::string sentence(level_changed const& e) {
    std::string const value = std::isnan(e.value) ? fmt::format("no {} in its window", e.metric)
                                                  : fmt::format("{} {:.4g} on average", e.metric, e.value);
    return fmt::format("{} {} its level: {}, {:.0f} % of the window met", e.job, e.holds ? "holds" : "has lost", value,
                       100 * e.met);
}

[[nodiscard]] std::string sentence(condition_changed const& e) {
    return fmt::format("{} is {}", e.job, with_reason(name_of(e.now), e.why));
}

[[nodiscard]] std::string sentence(change_applied const& e) {
    auto const subject = e.operation.subject.view();  // the whole path is in the event log
    return fmt::format("{}: {} from {} to {}{}", e.job, subject.substr(subject.rfind('/') + 1),
                       e.operation.old_value.view(), e.operation.new_value.view(), cordoned(e.reason));
}

[[nodiscard]] std::string sentence(warning const& e) {
    return fmt::format("warning: {}", e.subject.empty() ? std::string(e.message) : with_reason(e.subject, e.message));
}

[[nodiscard]] std::string sentence(policy_logged const& e) {
    return e.for_people ? fmt::format("{} of policy {}: {}", e.level, e.policy, e.text) : std::string();
}

/// The step comes before the reason, which can be a long sentence.
[[nodiscard]] std::string sentence(job_ended const& e) {
    std::string const step = e.step > 0 ? fmt::format(" at step {}", e.step) : "";
    std::string const level = e.level_met ? fmt::format(", {}", level_text(*e.level_met)) : "";
    return fmt::format("{} {}{}", e.job, name_of(e.how), with_reason(step + level, e.why));
}

[[nodiscard]] std::string sentence(run_ended const& e) {
    return fmt::format("{} after {}, {:.2f} cores used on average",
                       e.summary.interrupted ? "interrupted" : "all jobs are over", duration_text(e.summary.makespan),
                       e.summary.mean_cpu);
}

/// Only results, warnings and the wait in the queue are printed, not the steps between them.
[[nodiscard]] std::string sentence(resize_changed const& e) {
    auto const devices = [](std::int64_t n) { return fmt::format("{} device{}", n, n == 1 ? "" : "s"); };
    switch (e.what) {
        case resize_step::settled:
            if (e.from == 0 || e.from == e.to)
                return fmt::format("{} runs on {}{}", e.job, devices(e.to), cordoned(e.why));
            return fmt::format("{} runs on {} instead of {}{}", e.job, devices(e.to), e.from, cordoned(e.why));
        case resize_step::restored: return fmt::format("{} runs on {} again{}", e.job, devices(e.to), cordoned(e.why));
        case resize_step::verified: return fmt::format("{} has {} (verified)", e.job, e.why);
        case resize_step::unverified: return fmt::format("{} is not verified: {}", e.job, e.why);
        case resize_step::queued: return fmt::format("{} is saved and waits for devices", e.job);
        case resize_step::failed:
            return fmt::format("{} stays at {} and does not get {}: {}", e.job, devices(e.from), e.to, e.why);
        case resize_step::stuck: return fmt::format("warning: {}: {}", e.job, e.why);
        default: return {};
    }
}

[[nodiscard]] std::string sentence(delivered const& e) {
    return fmt::format("{} is delivered: checkpoint of step {} in {}", e.job, e.step, e.folder);
}

[[nodiscard]] std::string sentence(device_changed const& e) {
    return e.what == device_change::back
               ? fmt::format("{} is given to jobs again", e.device)
               : fmt::format("warning: {} is withheld from jobs for a while: {}", e.device, e.why);
}

[[nodiscard]] std::string sentence(item_changed const& e) {
    return e.after > 0 ? fmt::format("{} is in memory with {}{}", e.item, size_text({e.after}), cordoned(e.reason))
                       : fmt::format("{} is released from memory{}", e.item, cordoned(e.reason));
}

/// These events are too many to print.
template <class Body>
[[nodiscard]] std::string sentence(Body const&) {
    return {};
}

}  // namespace

std::string_view tier_name(std::uint32_t tier) noexcept {
    return tier == 0 ? "" : tier == 1 ? "Acceptable" : "Objective";
}

std::string level_text(double met) { return fmt::format("level met {:.0f} % of the time", 100 * met); }

std::string reached_text(job_view const& job) {
    if (!job.level) return std::string(tier_name(job.tier));
    return job.level_met ? fmt::format("{:.0f} % met", 100 * *job.level_met) : "";
}

std::string value_text(job_view const& job) {
    return job.value ? fmt::format("{} {:.4g}", job.metric, *job.value) : job.metric + " -";
}

std::string held_text(job_view const& job) {
    if (job.devices) {
        std::string const going =
            job.going_to && *job.going_to != *job.devices ? fmt::format(">{}", *job.going_to) : "";
        return fmt::format("{}{} dev", *job.devices, going);
    }
    if (!job.held) return "-";
    if (job.held->count == unlimited) return "no limit";
    return fmt::format("{:.2f}", static_cast<double>(job.held->count) / 1000);
}

std::string state_text(job_view const& job) {
    if (job.now == condition::waiting && job.starts_in) return "starts in " + duration_text(*job.starts_in);
    return with_reason(name_of(job.now), job.detail);
}

std::string cordon_text(view_model const& model) {
    return model.cordoned_devices > 0 ? fmt::format(", {} cordoned", model.cordoned_devices) : std::string();
}

std::string plain_line(event const& e) {
    std::string const reply = std::visit([](auto const& body) { return sentence(body); }, e.body);
    return reply.empty() ? reply : fmt::format("[{:>7}] {}", duration_text(e.at), printable(reply));
}

std::string status_line(view_model const& model) {
    std::string out =
        fmt::format("[{:>7}] {:.2f} of {} cores used", duration_text(model.elapsed), model.used, model.cpus);
    if (model.devices > 0)
        out += fmt::format(", {} of {} devices held{}", model.devices_held, model.devices, cordon_text(model));
    for (auto const& job : model.jobs) {
        if (job.now == condition::waiting || is_over(job.now)) continue;
        out += fmt::format("; {} {}, holds {}, uses {:.2f}", job.name, value_text(job), held_text(job), job.used);
        if (job.now != condition::running) out += ", " + state_text(job);
    }
    return printable(out);
}

}  // namespace ration::program
