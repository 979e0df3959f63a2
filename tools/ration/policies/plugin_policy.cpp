// SPDX-License-Identifier: BSL-1.0
#include "policies/plugin_policy.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ration/plugin/host/host.hpp>
#include <ration/plugin/host/plugin_estimator.hpp>
#include <ration/plugin/host/worker_main.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "config/parameters_json.hpp"

namespace ration::program {
namespace {

/// The host takes whole paths only, and no links: what a path means must not change between the check and the load.
[[nodiscard]] std::string whole_path(std::string_view path) {
    std::error_code failed;
    auto const found = std::filesystem::canonical(path, failed);
    return failed ? std::filesystem::absolute(path).lexically_normal().string() : found.string();
}

[[nodiscard]] plugin::worker_program worker_with(std::vector<std::string> more) {
    more.insert(more.begin(), std::string(worker_word));
    return {"/proc/self/exe", std::move(more)};
}

[[nodiscard]] bool is_for_here(plugin_use const& use) noexcept {
    return use.isolation != nullptr && use.isolation->where == policy_location::in_process;
}

/// Why it was not opened, at the place in the jobs file that can change that.
[[nodiscard]] std::pair<position, std::string> problem_of(plugin_use const& use, std::string const& path,
                                                          error const& why) {
    if (std::string_view(why.operation) == plugin::start_operation)
        return {use.parameters != nullptr ? use.parameters->at : use.at, why.subject.c_str()};
    if (!is_for_here(use) || why.code != errc::denied) return {use.at, to_text(why)};
    auto const file = plugin::plugin_file::open(path);
    if (!file) return {use.at, to_text(why)};  // denied wherever it runs
    if ((file->manifest.flags & RATION_F_OUT_OF_PROCESS_ONLY) != 0)
        return {use.isolation->at, "it may only run in a worker process; write \"worker\" here, or leave this out"};
    return {use.isolation->at, to_text(why)};
}

/// Null with at least one problem. `open`: `plugin::open` or `plugin::open_estimator`.
template <class Opened>
[[nodiscard]] std::unique_ptr<Opened> open_with(result<std::unique_ptr<Opened>> (*open)(std::string const&,
                                                                                        plugin::open_options const&),
                                                plugin_use const& use, policy_log& log, diagnostics& problems) {
    std::string const config = as_json(use.parameters), path = whole_path(use.path);
    bool const here = is_for_here(use);
    auto opened = open(path, {.where = here ? plugin::isolation::in_process : plugin::isolation::worker,
                              .config = config,
                              .worker = {.program = worker_with({}),
                                         .deadline = use.deadline,
                                         .columns = use.columns,
                                         .may_start_later = use.may_start_later},
                              .strikes = {},
                              .log = log.as_sink()});
    if (opened) return std::move(opened).value();
    auto const [at, why] = problem_of(use, path, opened.failure());
    problems.add(at, printable(fmt::format("{}: {}", use.path, why)));
    return nullptr;
}

}  // namespace

int plugin_worker() { return plugin::worker_main(); }

int compiled_in_worker(std::string_view name, compiled_in_maker const& make) {
    return plugin::worker_main([&](std::string_view config, std::string& why) {
        policy_parameters given{.policy = std::string(name), .at = {}, .parameters = {}};
        if (!config.empty()) given.parameters = parameters_in(nlohmann::json::parse(config));
        diagnostics problems;
        auto made = make(&given, problems);
        if (!problems.empty()) why = problems.begin()->text;
        return made;
    });
}

std::unique_ptr<any_policy> open_compiled_in(ration_manifest const& manifest, plugin_use const& use, policy_log& log,
                                             diagnostics& problems) {
    std::string const config = as_json(use.parameters);
    auto opened = plugin::open_compiled_in(manifest, {.config = config,
                                                      .worker = {.program = worker_with({std::string(use.path)}),
                                                                 .to_start = use.deadline,
                                                                 .deadline = use.deadline,
                                                                 .may_start_later = use.may_start_later},
                                                      .strikes = {},
                                                      .log = log.as_sink()});
    if (opened) return std::move(opened).value();
    problems.add(use.at, printable(fmt::format("policy {}: {}", quoted(use.path), to_text(opened.failure()))));
    return nullptr;
}

std::string_view why_workers_read_all() {
    return plugin::landlock_version() == 0
               ? "this kernel has no Landlock, so a policy from a file can read every file that you can read"
               : "";
}

result<plugin_description> describe_plugin(std::string const& path) {
    auto const file = plugin::plugin_file::open(whole_path(path));
    if (!file) return file.failure();
    auto const text = [](auto const& field) { return std::string(plugin::detail::text_in(field)); };
    auto const& m = file->manifest;
    plugin_description about{.path = path,
                             .name = text(m.name),
                             .id = text(m.id),
                             .version = text(m.version),
                             .vendor = text(m.vendor),
                             .license = text(m.license),
                             .summary = text(m.summary),
                             .parameters = text(m.parameters),
                             .needs = {},
                             .computes = {},
                             .worker_only = (m.flags & RATION_F_OUT_OF_PROCESS_ONLY) != 0};
    for (auto const line : plugin::detail::lines_of(plugin::detail::text_in(m.needs))) about.needs.emplace_back(line);
    auto const computed = plugin::computed_by(m);  // the file was accepted, so its lines are valid
    for (auto const& column : *computed) about.computes.push_back(column.name);
    return about;
}

std::unique_ptr<any_policy> open_plugin(plugin_use const& use, policy_log& log, diagnostics& problems) {
    return open_with(&plugin::open, use, log, problems);
}

std::unique_ptr<any_estimator> open_plugin_estimator(plugin_use const& use, policy_log& log, diagnostics& problems) {
    return open_with(&plugin::open_estimator, use, log, problems);
}

std::string_view isolation_of(any_policy& policy) {
    auto* const guarded = dynamic_cast<plugin::guarded_policy*>(&policy);
    return guarded == nullptr ? "none" : guarded->policy().ends_here() ? "in-process" : "worker";
}

bool is_quarantined(any_policy const& policy) {
    auto const* const guarded = dynamic_cast<plugin::guarded_policy const*>(&policy);
    return guarded != nullptr && guarded->quarantined();
}

std::string trouble_of(any_policy const& policy) {
    auto const* const guarded = dynamic_cast<plugin::guarded_policy const*>(&policy);
    if (guarded == nullptr) return {};
    bool const has_strike = guarded->last_fault().kind != plugin::fault_kind::none;
    auto const& last = has_strike ? guarded->last_fault() : guarded->policy().last_fault();  // its worker never started
    if (last.kind == plugin::fault_kind::none) return {};
    return fmt::format("{}{}", std::string_view(last.what), guarded->quarantined() ? "; it is not asked any more" : "");
}

std::vector<std::unique_ptr<any_estimator>> open_estimators(run_config const& config, policy_log& log,
                                                            diagnostics& problems) {
    std::vector<std::unique_ptr<any_estimator>> opened;
    for (auto const& [path, at] : config.estimators) {
        auto made = open_plugin_estimator(
            {.path = path, .at = at, .parameters = config.parameters_of(path), .isolation = config.isolation_of(path)},
            log, problems);
        if (made != nullptr) opened.push_back(std::move(made));
    }
    return opened;
}

std::string trouble_of(any_estimator const& estimator) {
    auto const* const from_file = dynamic_cast<plugin::plugin_estimator const*>(&estimator);
    return from_file == nullptr ? std::string() : trouble_of(from_file->plugin());
}

}  // namespace ration::program
