// SPDX-License-Identifier: BSL-1.0
#include "sim/runs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include <ration/plugin/host/shared_file.hpp>
#include <ration/sim/active_values.hpp>
#include <ration/sim/streamed_summary.hpp>
#include <ration/sim/time_series.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "sim/estimate_options.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::unique_ptr<any_policy> policy_of(std::string const& name, simulation_input const& input,
                                                    plugin::shared_columns const* columns, diagnostics& problems) {
    auto& log = policy_log::common_to(name);
    if (!is_plugin_path(name)) return make_policy(input.settings, name, log, problems);
    return open_plugin({.path = name,
                        .at = {},
                        .parameters = input.settings.parameters_of(name),
                        .isolation = nullptr,
                        .columns = columns,
                        .deadline = longest_decision},
                       log, problems);
}

/// Follows one run: what the charts show, and how far it is.
class run_watch final : public sim::run_observer {
    /// A sum over all jobs.
    struct quantity {
        double sum = 0;
        sim::time_series series;

        void add(nanoseconds now, double change) { series.set(now, sum += change); }
        [[nodiscard]] drawn_series drawn(nanoseconds end) { return {series.means(end), series.width()}; }
    };

    runs_progress& progress_;
    std::vector<double> has_;  // by id - 1: devices, or cores
    // The same of a stream, and its figures
    sim::active_values<double> active_;
    std::optional<sim::streamed_summary> summary_;
    quantity devices_, cores_, there_, waiting_;
    std::vector<job_history> ways_, nodes_;  // empty: not read

    void change(quantity& of, nanoseconds now, std::uint64_t job, double amount) {
        double& before = summary_ ? active_[job] : has_[job - 1];
        if (amount != before && !ways_.empty()) ways_[job - 1].add(now, amount);
        of.add(now, amount - before);
        waiting_.add(now, (amount == 0) - (before == 0));
        before = amount;
    }

public:
    run_watch(sample const& from, sim::cluster const& machines, runs_progress& progress, bool each)
        : progress_(progress), has_(from.jobs.jobs.size()), ways_(each ? has_.size() : 0),
          nodes_(each && has_to_place(machines) ? has_.size() : 0) {
        if (from.stream) summary_.emplace(from.jobs, machines);
    }

    void submitted(nanoseconds now, std::uint64_t job) noexcept override {
        if (summary_) {
            active_.add(job, 0);
            summary_->submitted(now, job);
        }
        there_.add(now, 1);
        waiting_.add(now, 1);
    }
    void holds(nanoseconds now, std::uint64_t job, std::int64_t devices) noexcept override {
        change(devices_, now, job, static_cast<double>(devices));
    }
    void uses(nanoseconds now, std::uint64_t job, double cores) noexcept override { change(cores_, now, job, cores); }
    void runs_on(nanoseconds now, std::uint64_t job, std::uint32_t node) noexcept override {
        if (!nodes_.empty()) nodes_[job - 1].add(now, node);
    }
    void finished(nanoseconds now, std::uint64_t job) noexcept override {
        if (summary_) summary_->finished(now, job);
        there_.add(now, -1);
        waiting_.add(now, -1);  // it has just come to hold nothing
        progress_.jobs_done.fetch_add(1, std::memory_order_relaxed);
    }

    void outcome_of(std::uint64_t id, sim::job_description const& job, sim::job_outcome const& got) noexcept override {
        if (!summary_) return;
        active_.remove(id);
        summary_->outcome_of(id, job, got);
    }

    /// Writes what the run has shown, after its outcome.
    void finish(simulated_run& into) {
        nanoseconds const end = into.outcome.end;
        if (summary_) {
            into.figures = summary_->result(into.outcome);
            into.times = streamed_times{summary_->jct(), summary_->wait()};
        }
        into.ways = std::move(ways_);
        into.nodes = std::move(nodes_);
        into.devices = devices_.drawn(end);
        into.cores = cores_.drawn(end);
        into.there = there_.drawn(end);
        into.queue = waiting_.drawn(end);
    }
};

[[nodiscard]] result<sim::run_outcome> simulate(sample const& from, sim::cluster const& machines, any_policy& policy,
                                                sim::sim_options const& how) {
    noop_policy fallback;
    if (!from.stream) return sim::simulation(from.jobs, machines, policy, fallback, how).run();
    if (auto const* const made = std::get_if<generated_stream>(&*from.stream)) {
        sim::rigid_source source(made->how, made->only);
        return sim::simulation(source, machines, policy, fallback, how).run();
    }
    sim::trace::table_source source(std::get<sim::trace::streamed_table>(*from.stream));
    auto ran = sim::simulation(source, machines, policy, fallback, how).run();
    if (auto const read = source.status(); !read) return read.failure();
    return ran;
}

/// Those that do not depend on the policy.
[[nodiscard]] sim::sim_options settings_of(simulation_options const& options, simulation_input const& input,
                                           sample const& from) {
    sim::sim_options how{.interval = options.interval,
                         .settle = input.settle,
                         .seed = from.seed,
                         .stop_at_bad_grant = options.stop_at_bad_grant,
                         .faults = from.faults,
                         .rates = input.rates,
                         .checkpoint = options.checkpoint,
                         .save = options.save,
                         .noise = input.noise,
                         .half_life = input.half_life,
                         .most_used_cores = input.most_used_cores,
                         .prices = input.prices,
                         .cache = input.cache};
    if (options.until) how.limit = *options.until;
    return how;
}

void run_one(simulation_options const& options, simulation_input const& input, runs_progress& progress,
             simulated_run& into) {
    auto const start = std::chrono::steady_clock::now();
    sample const& from = input.samples[into.sample];
    auto const& name = options.policies[into.policy];
    std::optional<plugin::shared_columns> columns;
    if (is_plugin_path(name)) columns.emplace();
    diagnostics problems;
    auto const policy = policy_of(name, input, columns ? &*columns : nullptr, problems);
    if (policy == nullptr) {
        into.failure = problems.front().text;
        return;
    }
    timed_policy timed(*policy);
    bool const each = into.sample == 0 && (options.json || !options.report.empty());
    run_watch watch(from, input.machines, progress, each);
    sim::sim_options how = settings_of(options, input, from);
    how.observer = &watch;
    how.columns = columns ? &*columns : nullptr;
    sim_estimators estimators(options.estimates, input.settings, from.phases, problems);
    if (!problems.empty()) {
        into.failure = problems.front().text;
        return;
    }
    if (!input.is_exact.empty() && !input.is_exact[into.policy]) how.estimators = estimators.stage();
    auto ran = simulate(from, input.machines, timed, how);
    if (!ran) {
        into.failure = to_text(ran.failure());
        return;
    }
    into.outcome = std::move(ran).value();
    into.failure = exceeds_clock(options, into.outcome) ? beyond_clock("it takes longer than") : estimators.trouble();
    if (!from.stream) into.figures = figures_of(from.jobs, input.machines, from.needs, into.outcome);
    watch.finish(into);
    if ((!options.tenants.empty() || options.cache) && !from.stream)
        into.tenants = tenant_figures_of(from.jobs, into.outcome);
    if (auto const* const lost = timed.first_lost()) into.lost = *lost;
    into.decisions = timed.times();
    into.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The sentence for a policy that does not fit these runs.
[[nodiscard]] std::string refusal(std::string const& name, error const& why) {
    bool const lacks_column = why.code == errc::not_found && std::string_view(why.operation) == "bind column";
    if (lacks_column && std::ranges::find(sim::sim_columns::phase_columns, why.subject.view()) !=
                            std::end(sim::sim_columns::phase_columns))
        return fmt::format(
            "the policy {} reads the column {}, and no job has phases: name a trace with the column phases, or write "
            "--generate phases",
            quoted(name), why.subject.view());
    if (lacks_column)
        return fmt::format(
            "the policy {} reads the column {}, which a simulation does not offer: choose a policy that does without",
            quoted(name), why.subject.view());
    return fmt::format("the policy {} cannot run here: {}", quoted(name), to_text(why));
}

/// Whether it looks at how much of a resource nodes have: who shares it does.
[[nodiscard]] bool shares(any_policy const& policy, std::string const& resource) {
    return policy.reads("nodes/capacity." + resource) || policy.reads("nodes/free." + resource);
}
/// Whether it looks at the resource at all.
[[nodiscard]] bool inspects(any_policy const& policy, std::string const& resource) {
    auto const of_jobs = [&](char const* what) { return policy.reads(what + resource); };
    return shares(policy, resource) || of_jobs("jobs/held.") || of_jobs("jobs/request.") || of_jobs("jobs/min.") ||
           of_jobs("jobs/max.");
}

/// Refuses a policy that shares out what the cluster does not have and reads nothing of what it has.
[[nodiscard]] result<void, diagnostic> check_shared_resource(std::string const& name, any_policy const& policy,
                                                             simulation_input const& input) {
    auto const refused = [&](std::string_view shared, std::string_view other, std::string_view example) {
        return diagnostic{
            .text = fmt::format("the policy {} shares {}, and {} has none: choose one that shares {}, such as {}{}",
                                quoted(name), shared, input.is_recorded ? "the recorded machine" : "--cluster", other,
                                example, input.is_recorded ? "" : ", or write 1x4+8cores for a node with both")};
    };
    if (shares(policy, "gpu") && !inspects(policy, "cpu") && devices_of(input.machines) == 0)
        return refused("devices", "cores", "equal_share");
    if (shares(policy, "cpu") && !inspects(policy, "gpu") && !(cores_of(input.machines) > 0))
        return refused("cores", "devices", "fifo");
    return {};
}

/// Refuses a policy that cannot place jobs on processors, where jobs need a place.
[[nodiscard]] result<void, diagnostic> check_placement(std::string const& name, any_policy const& policy,
                                                       simulation_input const& input) {
    bool const places = policy.reads("held/node") && policy.reads("jobs/held.cpu");
    auto const runs_on_cpu = [](sample const& s) {
        return std::ranges::any_of(s.jobs.jobs, [&](auto const& job) { return s.jobs.runs_on_cpu(job); });
    };
    if (places || !has_to_place(input.machines) || std::ranges::none_of(input.samples, runs_on_cpu)) return {};
    return diagnostic{
        .text = fmt::format(
            "the policy {} does not place jobs on processors, and --cluster has cores on other nodes than the first: choose one that does, such as tradl, "
            "or give all cores to the first node, as in 1x8cores or 1x4+8cores,8x4",
            quoted(name))};
}

/// Refuses a policy that does not fit these runs.
[[nodiscard]] result<void, diagnostic> check_policy(std::string const& name, any_policy& policy,
                                                    simulation_input const& input) {
    auto const& all = sim::all_resources;
    for (auto const& s : input.samples) {
        snapshot_store store;
        auto const declared = sim::sim_columns::declare(store, sim::shape_of(s.jobs), input.machines, true,
                                                        [](std::string_view) { return true; });
        if (!declared) return diagnostic{.text = to_text(declared.failure())};
        limits const one{.jobs = 1, .nodes = 1, .resources = all.size(), .resource_table = all.data()};
        if (auto const bound = policy.bind(store.schema(), one); !bound)
            return diagnostic{.text = refusal(name, bound.failure())};
    }
    if (auto const shared = check_shared_resource(name, policy, input); !shared) return shared;
    return check_placement(name, policy, input);
}

[[nodiscard]] std::string job_name(sim::workload const& jobs, std::uint64_t id) {
    if (id == 0) return "a job that is not there";
    if (id <= jobs.job_names.size()) return "job " + quoted(jobs.job_names[id - 1]);
    return fmt::format("job {}", id);
}

[[nodiscard]] std::string_view resource_name(std::uint32_t resource) {
    return resource < sim::all_resources.size() ? sim::all_resources[resource].name : "a resource that is not there";
}

[[nodiscard]] std::string at_tick(std::uint64_t number, nanoseconds at) {
    return fmt::format("at tick {} ({})", number, duration_text(at));
}

}  // namespace

std::vector<policy_text> try_policies(simulation_options const& options, simulation_input const& input,
                                      diagnostics& problems) {
    std::vector<policy_text> all;
    for (auto const& name : options.policies) {
        auto const policy = policy_of(name, input, nullptr, problems);
        if (policy == nullptr) continue;
        if (auto const fits = check_policy(name, *policy, input); !fits) problems.add(fits.failure());
        std::string const file = name.substr(name.rfind('/') + 1);
        all.push_back({name, std::string(policy->about().id), std::string(policy->about().version), printable(file),
                       policy->follows_changes(),
                       std::ranges::any_of(estimated_columns_of(options.estimates),
                                           [&](std::string const& column) { return policy->reads(column); })});
    }
    for (auto& one : all)  // the folders distinguish two files of one name
        if (std::ranges::count(all, one.label, &policy_text::label) > 1) one.label = printable(one.name);
    return all;
}

bool exceeds_clock(simulation_options const& options, sim::run_outcome const& outcome) noexcept {
    return outcome.how == sim::ending::time_limit && !options.until;
}

std::size_t threads_for(simulation_options const& options, std::size_t runs) noexcept {
    std::size_t const wanted =
        options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
    return std::clamp<std::size_t>(runs, 1, wanted);
}

std::vector<simulated_run> run_all(simulation_options const& options, simulation_input const& input,
                                   runs_progress& progress) {
    std::vector<simulated_run> runs(options.policies.size() * input.samples.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].policy = i / input.samples.size();
        runs[i].sample = i % input.samples.size();
    }
    std::atomic<std::size_t> next{0};
    auto const work = [&] {
        for (std::size_t i; (i = next.fetch_add(1)) < runs.size();) {
            run_one(options, input, progress, runs[i]);
            progress.runs_done.fetch_add(1);
        }
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads_for(options, runs.size()); ++i) others.emplace_back(work);
    work();
    others.clear();
    return runs;
}

std::vector<std::string> remarks_on(simulated_run const& run, std::string const& policy,
                                    simulation_input const& input) {
    std::vector<std::string> remarks;
    auto const& from = input.samples[run.sample];
    auto const report = [&](std::string sentence) {
        std::string const where = input.samples.size() > 1 ? fmt::format("{} on {}", policy, from.jobs.name) : policy;
        remarks.push_back(printable(fmt::format("{}: {}", where, sentence)));
    };
    if (!run.failure.empty()) {
        report("did not run: " + run.failure);
        return remarks;
    }
    if (auto const& bad = run.outcome.first_bad)
        report(fmt::format("{} it granted {} of {} on node {} to {}, but {}; {}", at_tick(bad->tick, bad->at),
                           bad->row.amount, resource_name(bad->row.resource), bad->row.node,
                           job_name(from.jobs, bad->job), name_of(bad->rule),
                           run.outcome.how == sim::ending::bad_grant
                               ? "the run ends there"
                               : fmt::format("{} of its grants were refused in all", run.outcome.rejected)));
    if (run.lost)
        report(fmt::format("{} it gave no answer: {}; {} ticks went without one, and everything stayed as it was",
                           at_tick(run.lost->number, run.lost->at), run.lost->why, run.outcome.refused_ticks));
    std::size_t const left = run.figures.jobs - run.figures.finished;
    if (run.outcome.how == sim::ending::starved)
        report(fmt::format(
            "{} jobs wait, nothing runs, and it starts none of them; the run ends there, {} after its begin", left,
            duration_text(run.outcome.end)));
    if (!from.faults.empty() && run.outcome.end > from.faults_until)
        report(fmt::format("it took longer than faults were drawn for: after {} nothing goes wrong",
                           duration_text(from.faults_until)));
    if (run.outcome.how == sim::ending::out_of_memory)
        report(
            fmt::format("its memory limit killed a job 1000 times before it made progress; the run ends there, {} "
                        "after its begin, with {} of {} jobs not done",
                        duration_text(run.outcome.end), left, run.figures.jobs));
    if (run.outcome.how == sim::ending::time_limit)
        report(fmt::format("{} of {} jobs are not done at the time limit", left, run.figures.jobs));
    return remarks;
}

}  // namespace ration::program
