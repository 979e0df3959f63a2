// SPDX-License-Identifier: BSL-1.0
#include "dry_run.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ration/cgroup/hierarchy.hpp>
#include <ration/cgroup/kernel_io.hpp>
#include <ration/cgroup/limits.hpp>
#include <ration/engine.hpp>
#include <ration/policies/none.hpp>
#include <ration/process/cpus.hpp>

#include "error_text.hpp"
#include "elastic_jobs.hpp"
#include "job_board.hpp"
#include "machine.hpp"
#include "policy_registry.hpp"

namespace ration::program {
namespace {

/// Plans as this machine's backend would, on groups that do not exist. Reads, never writes.
class paper_backend {
    cgroup::kernel_io machine_;
    cgroup::version kind_ = cgroup::version::none;
    std::string directory_;
    job_board const& board_;

    [[nodiscard]] job_config const& job_of(job_id id) const noexcept { return *board_.job(id).config; }

public:
    using backend_concept = backend_tag;
    using operation = operation_text;

    paper_backend(backend_choice choice, job_board const& board) : board_(board) {
        auto const where = cgroup::tree::discover(machine_);
        auto const* const branch = where ? where->branch_of(cgroup::controller::cpu) : nullptr;
        if (choice == backend_choice::process || branch == nullptr) return;
        kind_ = branch->kind;
        directory_ = branch->own.path();
    }

    [[nodiscard]] std::string name() const {
        return kind_ == cgroup::version::none ? "process" : fmt::format("cgroup {}", cgroup::name_of(kind_));
    }

    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr resource_id limited[] = {resource_id::cpu};
        return limited;
    }
    [[nodiscard]] result<observation> observe(job_id) noexcept { return observation{}; }
    [[nodiscard]] result<void> apply(operation const&) noexcept { return {}; }
    [[nodiscard]] result<void> verify(operation const&) noexcept { return {}; }
    [[nodiscard]] result<void> undo(operation const&) noexcept { return {}; }
    [[nodiscard]] operation_text describe(operation const& op) noexcept { return op; }

    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        std::string const& job = job_of(wanted.job).name;
        if (wanted.resource == resource_id::gpu || wanted.resource == resource_id::batch) {
            out.push_back({.job = wanted.job, .resource = wanted.resource, .when = timing::needs_restart,
                           .subject = std::string_view(wanted.resource == resource_id::gpu ? "devices" : "samples per step"), .old_value = "0",
                           .new_value = std::string_view(std::to_string(wanted.amount))});
            return {};
        }
        operation op{.job = wanted.job, .resource = wanted.resource, .when = timing::live, .subject = {}, .old_value = {}, .new_value = {}};
        if (kind_ == cgroup::version::none) {
            op.subject = std::string_view("CPU time of its processes");
            op.old_value = "unlimited";
            op.new_value = std::string_view(wanted.amount == unlimited ? "unlimited" : fmt::format("{} millicores", wanted.amount));
        } else {
            auto const limit = cgroup::cpu_quota::of(millicores{wanted.amount});
            if (!limit) return limit.failure();
            bool const v2 = kind_ == cgroup::version::v2;
            op.subject = std::string_view(fmt::format("{}/ration-run/{}/{}", directory_, job, v2 ? "cpu.max" : "cpu.cfs_quota_us"));
            op.old_value = v2 ? "max 100000" : "-1";
            op.new_value = std::string_view(v2 ? limit->v2_text() : limit->v1_text());
        }
        out.push_back(op);
        return {};
    }
};
static_assert(Backend<paper_backend>);

void print(run_options const& options, job_board const& board, meta const& about, tick_report const& report) {
    for (auto const& change : report.changes) {
        auto const& job = *board.job(change.grant.what.job).config;
        auto const reason = about.reason(change.grant.reason());
        for (auto const& op : report.operations.subspan(change.first_operation, change.operations)) {
            if (options.json) {
                nlohmann::ordered_json const line{{"event", "planned"}, {"job", job.name}, {"resource", standard_resources[static_cast<std::size_t>(op.resource)].name},
                                                  {"subject", op.subject.view()}, {"old", op.old_value.view()},
                                                  {"new", op.new_value.view()}, {"when", name_of(op.when)}, {"reason", reason}};
                std::puts(line.dump().c_str());
            } else {
                fmt::print("  {:<12} {:<52} {:>12} -> {:<14} {}\n", job.name, op.subject.view(), op.old_value.view(), op.new_value.view(),
                           name_of(op.when));
            }
        }
        if (options.explain && !options.json) fmt::print("  {:<12} because {}\n", "", reason);
    }
}

void print_jobs(run_config const& config) {
    for (auto const& job : config.jobs) {
        std::string command;
        for (auto const& word : job.command) command += (command.empty() ? "" : " ") + word;
        fmt::print("  at {:>6.1f} s  {:<12} {}\n", to_seconds(job.at), job.name, command);
    }
}

[[nodiscard]] exit_code plan_policy(run_options const& options, run_config const& config, host_devices const& devices,
                                    std::string const& policy_name) {
    std::vector<problem> problems;
    auto& log = policy_log::for_good();
    auto const policy = make_policy(config, policy_name, log, problems);
    std::uint32_t const here = machine_here().cpus, cpus = std::min(config.cpus.value_or(here), here);
    job_board board(config.jobs, {.cpu = millicores{std::int64_t{1000} * cpus}, .memory = machine_here().memory,
                                  .devices = config.shares_devices() ? std::optional(static_cast<std::int64_t>(devices.names().size())) : std::nullopt});
    paper_backend backend(options.backend, board);
    elastic_jobs machines(devices.names());
    for (auto const& job : board.jobs())
        if (job.config->elastic) machines.add(job.id, {}, to_seconds(job.config->elastic->restart_cost));
    for (auto& job : board.jobs()) {
        job.devices = machines.find(job.id);
        job.now = job.devices == nullptr ? condition::running : condition::waiting;
        if (job.devices == nullptr) job.launched_at = nanoseconds{};
    }
    board.arrive(nanoseconds{std::numeric_limits<std::int64_t>::max()});
    board.refresh({});
    bound_policy<policies::none> fallback;
    engine<paper_backend> planner(backend, *policy, fallback, board.store(), board.columns(), host_resources(board.shares_devices()), {});
    if (auto bound = planner.bind({.jobs = config.jobs.size(), .nodes = 1}); !bound) {
        std::fprintf(stderr, "ration: %s\n", to_text(bound.failure()).c_str());
        return exit_code::no_backend;
    }
    if (!options.json) {
        std::string const shared = devices.names().empty() ? "" : fmt::format(" and {} devices", devices.names().size());
        fmt::print("{} with {} on {} of {} cpus{}; nothing is started or changed\n\nwould start\n", policy_name, backend.name(), cpus, here, shared);
        print_jobs(config);
        fmt::print("\nand, once all of them run, set\n");
    }
    print(options, board, policy->about(), planner.tick({}, tick_mode::plan_only));
    print_to_stderr(log, policy_name);
    return exit_code::ok;
}

}  // namespace

exit_code dry_run(run_options const& options, run_config const& config, host_devices const& devices) {
    for (auto const& policy : options.policies)
        if (auto const code = plan_policy(options, config, devices, policy); code != exit_code::ok) return code;
    return exit_code::ok;
}

}  // namespace ration::program
