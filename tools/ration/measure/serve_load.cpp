// SPDX-License-Identifier: BSL-1.0
#include "measure/serve_load.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fmt/ranges.h>
#include <functional>
#include <future>
#include <thread>
#include <unistd.h>
#include <utility>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "config/parameters.hpp"
#include "measure/open_loop.hpp"
#include "measure/private_runs.hpp"
#include "measure/refusal.hpp"
#include "measure/scaling_plan.hpp"
#include "measure/serve_probe.hpp"
#include "measure/serve_result.hpp"
#include "policies/policy_registry.hpp"

namespace ration::program {
namespace {

constexpr std::string_view socket_parameter = "socket";
constexpr std::size_t most_servers = 2;

[[nodiscard]] bool is_server(run_config const& config, std::size_t job) {
    auto const parameters = launch_parameters_of(config.source, job);
    return std::ranges::find(parameters, socket_parameter, &launch_parameter::first) != parameters.end();
}

/// The indices of the servers to measure.
[[nodiscard]] result<std::vector<std::size_t>, diagnostic> choose_servers(run_config const& config,
                                                                          std::vector<std::string> const& wanted) {
    std::vector<std::string_view> names;
    std::vector<std::size_t> out;
    names.reserve(config.jobs.size());
    for (auto const& job : config.jobs) names.emplace_back(job.name);
    for (auto const& name : wanted) {
        auto const found = std::ranges::find(names, name);
        if (found == names.end())
            return diagnostic{.file = config.file,
                              .text = fmt::format("job {} is unknown{}", quoted(name), suggestion(name, names))};
        out.push_back(static_cast<std::size_t>(found - names.begin()));
    }
    for (std::size_t i = 0; wanted.empty() && i < names.size(); ++i)
        if (is_server(config, i)) out.push_back(i);
    for (auto const job : out)
        if (!is_server(config, job))
            return diagnostic{.file = config.file,
                              .text = fmt::format("job {} has no parameter 'socket'; add parameters = {{ socket = "
                                                  "\"server.sock\" }} to it, and {{socket}} to its command",
                                                  quoted(names[job]))};
    if (out.empty())
        return diagnostic{.file = config.file,
                          .text =
                              "no job has a parameter 'socket'; add parameters = { socket = \"server.sock\" } to "
                              "the server, and {socket} to its command"};
    if (out.size() > most_servers || (out.size() == most_servers && out[0] == out[1]))
        return diagnostic{.file = config.file,
                          .text =
                              "one or two different servers can be measured; choose them by "
                              "--job"};
    return out;
}

/// The connections to the servers of one launch, in their order.
using connections = std::vector<open_loop>;
/// A failure is a sentence on a server.
using outcome = result<void, std::string>;

/// Launches servers, and sends requests to them from a separate thread.
class server_launcher {
    run_config const& config_;
    private_runs& runs_;

public:
    server_launcher(run_config const& config, private_runs& runs) : config_(config), runs_(runs) {}

    /// Launches these jobs, calls `measure` with their connections, and stops them. Errors: those of
    /// `private_runs::launch`. The outcome is that of `measure`, or a server did not listen.
    [[nodiscard]] result<outcome> with_servers(std::vector<std::size_t> const& jobs,
                                               std::function<outcome(connections&)> const& measure) {
        auto const config = launched_config(jobs);
        std::atomic<bool> finished = false, cancelled = false;
        outcome found;
        std::thread sender([&] {
            found = connect_and_measure(config, jobs, cancelled, measure);
            finished = true;
        });
        serve_probe probe(finished);
        auto const ended = runs_.launch(config, probe);
        bool const early = !finished;
        cancelled = true;
        sender.join();
        if (!ended) return ended.failure();
        if (early && !runs_.interrupted()) found = outcome(reason_of(*ended));
        return found;
    }

private:
    [[nodiscard]] std::string path_of(std::size_t job) const { return fmt::format("{}/{}.sock", runs_.folder(), job); }

    /// Only these jobs, each with a private socket. Without devices no policy limits them, so that they share the cores
    /// as the kernel lets them.
    [[nodiscard]] run_config launched_config(std::vector<std::size_t> const& jobs) const {
        run_config out;
        for (auto const job : jobs) {
            ::unlink(path_of(job).c_str());
            auto text = with_launch_parameters(config_.source, job, {{std::string(socket_parameter), path_of(job)}});
            auto read = parse_config(text ? *text : config_.source, config_.file,
                                     {.policies = policy_names(), .policy_given = true});
            auto one = measured_config(std::move(read.config), job);
            one.jobs.front().must_report = false;
            if (out.jobs.empty())
                out = std::move(one);
            else
                out.jobs.push_back(std::move(one.jobs.front()));
        }
        bool const devices =
            std::ranges::any_of(out.jobs, [](job_config const& job) { return job.elastic.has_value(); });
        out.policy = out.fallback = devices ? "fifo" : "none";
        return out;
    }

    [[nodiscard]] outcome connect_and_measure(run_config const& config, std::vector<std::size_t> const& jobs,
                                              std::atomic<bool> const& cancelled,
                                              std::function<outcome(connections&)> const& measure) const {
        connections all;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            auto const& job = config.jobs[i];
            auto const patience = (job.elastic ? job.elastic->deadlines : resize_deadlines{}).start;
            auto one = open_loop::connect(path_of(jobs[i]), process::now() + patience, cancelled);
            if (!one) return fmt::format("job {}: {}", quoted(job.name), one.failure());
            all.push_back(std::move(*one));
        }
        return measure(all);
    }

    /// Of servers that ended while requests were sent.
    [[nodiscard]] static std::string reason_of(run_summary const& ended) {
        auto const& job = ended.jobs.front();
        return fmt::format("job {}: it {}: {}", quoted(job.name), name_of(job.how), job.why);
    }
};

/// All rounds: each server alone, then both together with the first one at shares of that rate.
class serve_measurement {
    serve_measure_options const& options_;
    std::vector<std::size_t> const& jobs_;
    private_runs& runs_;
    server_launcher servers_;
    serve_result& all_;
    std::uint64_t seed_;

public:
    serve_measurement(serve_measure_options const& options, run_config const& config,
                      std::vector<std::size_t> const& jobs, private_runs& runs, serve_result& all)
        : options_(options), jobs_(jobs), runs_(runs), servers_(config, runs), all_(all), seed_(options.seed) {}

    /// Returns early after an interrupt. Errors: those of `private_runs::launch`.
    [[nodiscard]] result<outcome> measure() {
        for (std::uint32_t round = 1; round <= options_.repeat; ++round) {
            serve_round now{.alone = std::vector<load_pass>(jobs_.size()), .together = {}};
            for (std::size_t i = 0; i < jobs_.size(); ++i) {
                // Every second round has the reverse order
                auto const which = round % 2 == 1 ? i : jobs_.size() - 1 - i;
                auto done = measure_alone(which, now);
                if (!done || !*done || runs_.interrupted()) return done;
            }
            if (jobs_.size() > 1) {
                auto done = measure_together(now);
                if (!done || !*done || runs_.interrupted()) return done;
            }
            all_.rounds.push_back(std::move(now));
            std::fputs(fmt::format("round {} of {} is complete\n", round, options_.repeat).c_str(), stderr);
        }
        return outcome();
    }

private:
    [[nodiscard]] pass_plan plan_at(double rate) {
        return {.rate = rate, .length = options_.time, .seed = seed_++, .limit = all_.limit};
    }
    [[nodiscard]] load_ramp ramp_from(double rate) const { return load_ramp({.first = rate, .limit = all_.limit}); }

    [[nodiscard]] std::string unsustained(std::size_t which) const {
        return fmt::format("job {}: it keeps the limit at no rate; lengthen --limit", quoted(all_.jobs[which]));
    }

    [[nodiscard]] result<outcome> measure_alone(std::size_t which, serve_round& into) {
        return servers_.with_servers({jobs_[which]}, [&](connections& to) -> outcome {
            auto ramp = ramp_from(options_.first_rate);
            while (auto const rate = ramp.next()) {
                auto const pass = to.front().run(plan_at(*rate));
                if (!pass) return fmt::format("job {}: {}", quoted(all_.jobs[which]), pass.failure());
                ramp.add(*pass);
            }
            if (ramp.best() == nullptr) return unsustained(which);
            into.alone[which] = *ramp.best();
            return {};
        });
    }

    [[nodiscard]] result<outcome> measure_together(serve_round& into) {
        return servers_.with_servers(jobs_, [&](connections& to) -> outcome {
            for (double const share : fixed_shares) {
                auto const point = measure_point(to, into, share);
                if (!point) return point.failure();
                into.together.push_back(*point);
            }
            return {};
        });
    }

    [[nodiscard]] result<shared_point, std::string> measure_point(connections& to, serve_round const& round,
                                                                  double share) {
        double const fixed_rate = share * round.alone[0].served;
        auto ramp = ramp_from((1 - share) * round.alone[1].served);
        shared_point best{.fixed = fixed_rate, .ramped = 0};
        double best_rate = 0;
        while (auto const rate = ramp.next()) {
            auto const plan = plan_at(fixed_rate);
            auto beside = std::async(std::launch::async, [&] { return to[0].run(plan); });
            auto ramped = to[1].run(plan_at(*rate));
            auto const fixed = beside.get();
            if (!fixed) return fmt::format("job {}: {}", quoted(all_.jobs[0]), fixed.failure());
            if (!ramped) return fmt::format("job {}: {}", quoted(all_.jobs[1]), ramped.failure());
            if (!ramp.add(*ramped, *fixed) || *rate <= best_rate) continue;
            best_rate = *rate;
            best = {.fixed = std::min(fixed_rate, fixed->served), .ramped = ramped->served};
        }
        return best;
    }
};

[[nodiscard]] exit_code finish_serving(serve_measure_options const& options, serve_result const& all) {
    std::fputs((options.json ? serve_json(all) + '\n' : serve_text(all)).c_str(), stdout);
    return exit_code::ok;
}

[[nodiscard]] exit_code measure_servers(serve_measure_options const& options, run_config const& config,
                                        std::vector<std::size_t> const& jobs) {
    auto alone = measured_config(config, jobs.front());
    for (auto const job : jobs) {
        auto const absent = missing_files(measured_config(config, job));
        print_to_stderr(absent);
        if (!absent.empty()) return exit_code::bad_input;
    }
    auto const devices = find_devices(alone);
    if (!devices) return exit_code::no_backend;
    return with_private_runs(*devices, [&](private_runs& runs) {
        serve_result all{.file = options.file, .jobs = {}, .limit = to_seconds(options.limit), .rounds = {}};
        for (auto const job : jobs) all.jobs.push_back(config.jobs[job].name);
        auto const done = serve_measurement(options, config, jobs, runs, all).measure();
        if (!done) return fail(exit_code::no_backend, to_text(done.failure()));
        if (runs.interrupted()) return fail(exit_code::interrupted, "interrupted; the jobs were stopped");
        if (!*done) return fail(exit_code::job_failed, printable(done->failure()));
        return finish_serving(options, all);
    });
}

}  // namespace

exit_code measure_serve(serve_measure_options const& options) {
    if (options.limit.count == 0)
        return refuse(exit_code::bad_input,
                      {.file = "--limit", .text = "no request is served in no time; write a limit above 0"});
    auto const read = load_config(options.file, {.policies = policy_names(), .policy_given = true});
    print_to_stderr(read.problems);
    if (!read.problems.empty()) return exit_code::bad_input;
    auto const jobs = choose_servers(read.config, options.jobs);
    if (!jobs) return refuse_file(exit_code::bad_input, jobs.failure());
    for (auto const job : *jobs)
        if (auto const edited = with_launch_parameters(read.config.source, job, {{"socket", "s"}}); !edited)
            return refuse_file(exit_code::bad_input, {.file = options.file,
                                                      .text = fmt::format("its values cannot be replaced: {}; write "
                                                                          "parameters = {{ socket = \"server.sock\" }}",
                                                                          edited.failure().text)});
    return measure_servers(options, read.config, *jobs);
}

}  // namespace ration::program
