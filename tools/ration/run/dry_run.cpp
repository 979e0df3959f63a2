// SPDX-License-Identifier: BSL-1.0
#include "run/dry_run.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <limits>
#include <nlohmann/json.hpp>

#include <ration/cgroup/hierarchy.hpp>
#include <ration/cgroup/kernel_io.hpp>
#include <ration/cgroup/limits.hpp>
#include <ration/host/engine.hpp>
#include <ration/policies/none.hpp>
#include <ration/process/cpus.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/exit_code.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "events/machine.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "run/device_placement.hpp"
#include "run/elastic_jobs.hpp"
#include "run/item_cache.hpp"
#include "run/job_environment.hpp"
#include "run/job_table.hpp"
#include "run/live_estimators.hpp"
#include "run/reporter.hpp"
#include "run/run_cpus.hpp"
#include "view/view.hpp"

namespace ration::program {
namespace {

constexpr std::string_view no_limit = "unlimited";  // instead of the words of the kernel, such as -1

/// Plans as this machine's backend would, on groups that do not exist. Reads, never writes.
class dry_run_backend {
    cgroup::kernel_io machine_;
    cgroup::version kind_ = cgroup::version::none;
    std::string directory_, without_groups_;  // the group of the run; the backend without cgroups
    job_table const& board_;

    [[nodiscard]] job_config const& job_of(job_id id) const noexcept { return *board_.job(id).config; }

public:
    using backend_concept = backend_tag;
    using operation = operation_text;

    dry_run_backend(std::string const& choice, job_table const& board)
        : without_groups_(choice == automatic_backend || choice == "cgroup" ? "process" : choice), board_(board) {
        auto const where = cgroup::tree::discover(machine_);
        auto const* const branch = where ? where->branch_of(cgroup::controller::cpu) : nullptr;
        if (without_groups_ == choice || branch == nullptr) return;
        kind_ = branch->kind;
        directory_ = branch->own.path();
    }

    [[nodiscard]] std::string name() const {
        return kind_ == cgroup::version::none ? without_groups_ : fmt::format("cgroup {}", cgroup::name_of(kind_));
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
            out.push_back(
                {.job = wanted.job,
                 .resource = wanted.resource,
                 .when = timing::needs_restart,
                 .subject = std::string_view(wanted.resource == resource_id::gpu ? "devices" : "samples per step"),
                 .old_value = "0",
                 .new_value = std::string_view(std::to_string(wanted.amount))});
            return {};
        }
        operation op{.job = wanted.job,
                     .resource = wanted.resource,
                     .when = timing::live,
                     .subject = {},
                     .old_value = {},
                     .new_value = {}};
        if (kind_ == cgroup::version::none) {
            op.subject = std::string_view("CPU time of its processes");
            op.old_value = no_limit;
            op.new_value = std::string_view(wanted.amount == unlimited ? std::string(no_limit)
                                                                       : fmt::format("{} millicores", wanted.amount));
        } else {
            auto const limit = cgroup::cpu_quota::of(millicores{wanted.amount});
            if (!limit) return limit.failure();
            bool const v2 = kind_ == cgroup::version::v2;
            op.subject = std::string_view(
                fmt::format("{}/ration-run/{}/{}", directory_, job, v2 ? "cpu.max" : "cpu.cfs_quota_us"));
            op.old_value = no_limit;
            op.new_value =
                limit->is_unlimited() ? no_limit : std::string_view(v2 ? limit->v2_text() : limit->v1_text());
        }
        out.push_back(op);
        return {};
    }
};
static_assert(Backend<dry_run_backend>);

/// The devices that the jobs would have, as a run hands them out.
class dry_run_devices {
    host_devices const* shared_;
    elastic_jobs machines_;
    std::optional<device_placement> placement_;
    std::string by_number_;  // why, where GPUs are chosen so

public:
    struct given {
        std::string devices;
        job_location place;
        int percent = 0;  // of a GPU, where they are shares of one
    };

    dry_run_devices(host_devices const& devices, machine_topology const& topology, std::uint32_t cpus)
        : shared_(&devices), machines_(devices.names()),
          placement_(device_placement::of(topology, devices.pci(), process::cpu_set::of_thread(0).lowest(cpus))) {
        if (!placement_ && !topology.why_not.empty()) by_number_ = fmt::format("By number: {}.", topology.why_not);
        if (placement_) machines_.table().choose_by(*placement_);
        machines_.table().devices().set_memory(devices.memory());
    }

    void add(job_table const& board) {
        for (auto const& job : board.jobs()) {
            if (!job.config->elastic) continue;
            machines_.add(job.id, {}, to_seconds(job.elastic().restart_cost));
            machines_.table().needs(job.id, job.elastic().gpu_memory);
            if (placement_) placement_->add(job.id, job.config->cpu.maximum);
        }
    }
    [[nodiscard]] resize* find(job_id job) noexcept { return machines_.find(job); }

    [[nodiscard]] given give(job_id job, std::int64_t count) {
        auto const devices = machines_.table().take(job, count);
        auto const share = shared_->share_of(devices.size());
        return {machines_.table().devices().names(devices),
                placement_ ? placement_->settle(job, devices) : job_location{.why = by_number_},
                share ? share->percent() : 0};
    }
};

void print_json(std::string const& job, operation_text const& op, std::string_view reason,
                std::optional<dry_run_devices::given> const& given) {
    nlohmann::ordered_json line{{"event", "planned"},
                                {"job", job},
                                {"resource", standard_resources[static_cast<std::size_t>(op.resource)].name},
                                {"subject", op.subject.view()},
                                {"old", op.old_value.view()},
                                {"new", op.new_value.view()},
                                {"when", name_of(op.when)},
                                {"reason", reason}};
    if (given) {
        line["devices"] = given->devices;
        line["cpus"] = given->place.cpu_list();
        line["placement"] = given->place.why;
        line["percent"] = given->percent;
    }
    std::puts(line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

void print_text(std::string const& job, operation_text const& op, bool explain,
                std::optional<dry_run_devices::given> const& given) {
    fmt::print("  {:<12} {:<52} {:>12} -> {:<14} {}\n", job, op.subject.view(), op.old_value.view(),
               op.new_value.view(), name_of(op.when));
    if (!given) return;
    auto const cpus = given->place.cpu_list();
    fmt::print("  {:<12} {}{}{}\n", "", given->devices,
               given->percent > 0 ? fmt::format(": {} % of the GPU, by MPS", given->percent) : "",
               cpus.empty() ? "" : ", on CPUs " + cpus);
    if (explain && given->percent > 0)
        fmt::print(
            "  {:<12} The share is set by CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, read once by each process: another one is another launch.\n",
            "");
    if (explain && !given->place.why.empty()) fmt::print("  {:<12} {}\n", "", given->place.why);
}

void print(run_options const& options, job_table const& board, meta const& about, tick_report const& report,
           dry_run_devices& devices) {
    for (auto const& change : report.changes) {
        auto const& job = *board.job(change.grant.job).config;
        auto const reason = about.reason(change.grant.reason());
        for (auto const& op : report.operations.subspan(change.first_operation, change.operations)) {
            bool const is_size = op.resource == resource_id::gpu;
            auto const given = is_size ? std::optional(devices.give(op.job, change.grant.amount())) : std::nullopt;
            options.json ? print_json(job.name, op, reason, given) : print_text(job.name, op, options.explain, given);
        }
        if (options.explain && !options.json) fmt::print("  {:<12} because {}\n", "", printable(reason));
    }
}

/// How many threads the job would have if all jobs started at once, and how they would wait; of an elastic job at its
/// smallest size.
[[nodiscard]] std::vector<std::string> threads_of(job_config const& job, millicores capacity, std::size_t jobs) {
    auto request = environment_of(job, capacity, jobs);
    if (job.elastic) request.ranks = static_cast<std::size_t>(std::max<std::int64_t>(1, job.elastic->devices.minimum));
    auto const environment = process::make_environment(request);
    return environment ? thread_entries(*environment) : std::vector<std::string>{};
}

void print_jobs(run_config const& config, millicores capacity, bool explain) {
    for (auto const& job : config.jobs) {
        fmt::print("  at {:>6.1f} s  {:<12} {}\n", to_seconds(job.at), job.name,
                   printable(fmt::format("{}", fmt::join(job.command, " "))));
        auto entries = threads_of(job, capacity, config.jobs.size());
        if (!explain) std::erase_if(entries, [](std::string const& entry) { return !entry.starts_with("OMP_"); });
        fmt::print("  {:<12} {}\n", "", printable(fmt::format("{}", fmt::join(entries, " "))));
    }
}

[[nodiscard]] host_supply supply_of(run_config const& config, host_devices const& devices) {
    host_supply out{.cpu = usable_cpu(config.cpus), .memory = machine_here().memory, .tenants = config.tenants};
    if (auto phases = phase_models_of(config)) out.phases = std::move(phases).value();
    if (config.shares_devices()) out.devices = static_cast<std::int64_t>(devices.names().size());
    return out;
}

[[nodiscard]] exit_code plan_policy(run_options const& options, run_config const& config, host_devices const& devices,
                                    machine_topology const& topology, std::string const& policy_name) {
    diagnostics problems(config.file);
    auto& log = policy_log::for_good();
    auto const policy = make_policy(config, policy_name, log, problems);
    std::uint32_t const here = machine_here().cpus, cpus = std::min(config.cpus.value_or(here), here);
    auto const supply = supply_of(config, devices);
    job_table board(config.jobs, supply);
    dry_run_backend backend(options.backend, board);
    dry_run_devices dry_run_target(devices, topology, cpus);
    dry_run_target.add(board);
    for (auto& job : board.jobs()) {
        job.devices = dry_run_target.find(job.id);
        job.now = job.devices == nullptr ? condition::running : condition::waiting;
        if (job.devices == nullptr) job.launched_at = nanoseconds{};
    }
    board.arrive(nanoseconds{std::numeric_limits<std::int64_t>::max()});
    board.refresh({}, initial_progress(board.jobs()));
    policy_adapter<policies::none> fallback;
    auto const from_files = open_estimators(config, log, problems);
    live_estimators estimators(supply.phases.models, {.has_devices = board.shares_devices()}, from_files);
    engine<dry_run_backend> planner(backend, *policy, fallback, board.store(), board.columns(),
                                    host_resources(board.shares_devices()),
                                    {.half_life = board.half_life(), .estimates = estimators.stage()});
    if (auto bound = planner.bind({.jobs = config.jobs.size(), .nodes = 1}); !bound) {
        std::fprintf(stderr, "ration: %s\n", printable(to_text(bound.failure())).c_str());
        return exit_code::no_backend;
    }
    if (!options.json) {
        std::string const shared =
            devices.names().empty() ? "" : fmt::format(" and {} devices", devices.names().size());
        fmt::print("{} with {} on {} of {} cpus{}; nothing is started or changed\n\nwould start\n",
                   printable(policy_name), backend.name(), cpus, here, shared);
        print_jobs(config, supply.cpu, options.explain);
        fmt::print("\nand, once all of them run, set\n");
    }
    print(options, board, policy->about(), planner.tick({}, tick_mode::plan_only), dry_run_target);
    print_to_stderr(log, policy_name);
    return exit_code::ok;
}

/// The files that would be in memory in the first round, if all jobs ran.
void print_items(run_options const& options, run_config const& config, host_devices const& devices) {
    job_table const board(config.jobs, supply_of(config, devices));
    auto warnings = reporter::with_listener([](event const& e) {
        if (auto const line = plain_line(e); !line.empty()) std::fprintf(stderr, "ration: %s\n", line.c_str());
    });
    event_sink events(warnings);
    auto const cache = item_cache::of(config, board, config.jobs.size(), false, events);
    if (cache == nullptr || !config.cache) return;
    auto const report = cache->plan();
    if (!options.json)
        fmt::print("\nand keep in memory, of {} for the files that jobs read\n", size_text(*config.cache));
    for (auto const& change : report.changes) {
        auto const& file = *cache->files().find(change.grant.job);
        auto const reason = cache->reason(change.grant);
        if (options.json)
            std::puts(nlohmann::ordered_json{{"event", "planned"},
                                             {"item", file.path},
                                             {"resource", "cache"},
                                             {"bytes", file.bytes},
                                             {"reason", reason}}
                          .dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)
                          .c_str());
        else
            fmt::print("  {:<65} {:>12}\n", printable(file.path), size_text({file.bytes}));
        if (options.explain && !options.json) fmt::print("  {:<12} because {}\n", "", printable(reason));
    }
}

}  // namespace

exit_code dry_run(run_options const& options, run_config const& config, host_devices const& devices,
                  machine_topology const& topology) {
    for (auto const& [job, sentence] : shared_metric_files(config))
        std::fprintf(stderr, "ration: warning: %s: %s\n", job.c_str(), sentence.c_str());
    for (auto const& choice : options.policies)
        if (auto const code = plan_policy(options, config, devices, topology, choice.policy); code != exit_code::ok)
            return code;
    print_items(options, config, devices);
    return exit_code::ok;
}

}  // namespace ration::program
