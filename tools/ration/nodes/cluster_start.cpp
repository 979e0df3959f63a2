// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster_start.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <iterator>
#include <poll.h>
#include <utility>

#include <ration/process/input_file.hpp>

#include "common/printable.hpp"

namespace ration::program {
namespace {

constexpr nanoseconds end_patience = seconds(20), start_patience = seconds(5), reattach_patience = seconds(10),
                      last_patience = seconds(60);

[[nodiscard]] nanoseconds since_1970() {
    auto const time = std::chrono::system_clock::now().time_since_epoch();
    return nanoseconds{std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()};
}

/// The first node of the run that is not among these; null: there is none.
[[nodiscard]] std::string const* missing_node(cluster_record const& record, std::vector<node_spec> const& nodes) {
    for (auto const& job : record.jobs)
        for (auto const& part : job.layout)
            if (part.is_there && std::ranges::find(nodes, part.node, &node_spec::name) == nodes.end())
                return &part.node;
    return nullptr;
}

}  // namespace

bool any_up(cluster_nodes const& nodes) {
    for (std::size_t node = 0; node < nodes.registry().size(); ++node)
        if (nodes.registry().state(node) == node_state::up) return true;
    return false;
}

result<std::optional<earlier_run>, diagnostic> choose_run(run_options const& options, run_config const& config,
                                                          std::vector<node_spec> const& nodes,
                                                          std::vector<earlier_run>& earlier) {
    auto const newest = std::ranges::find_if(earlier.rbegin(), earlier.rend(),
                                             [](earlier_run const& run) { return !run.record.run.empty(); });
    if (!options.reattach || newest == earlier.rend()) return std::optional<earlier_run>();
    auto run = std::move(*newest);
    earlier.erase(std::next(newest).base());
    auto const source = process::read_input(run.folder + "/jobs.toml", {.most_bytes = max_config_bytes});
    if (!source || *source != config.source)
        return diagnostic{.file = config.file,
                          .text = fmt::format("the file has changed since the run to reattach began; restore it from "
                                              "{}/jobs.toml, or omit --reattach, which ends these jobs",
                                              run.folder)};
    if (auto const* const node = missing_node(run.record, nodes); node != nullptr)
        return diagnostic{.file = "--reattach",
                          .text = fmt::format("node {} of the run is missing; name the same nodes as before, or omit "
                                              "--reattach, which ends these jobs",
                                              quoted(*node))};
    return std::optional(std::move(run));
}

nanoseconds start_of(run_clock clock) { return since_1970() - clock.now(); }

run_clock clock_of(cluster_record const& record) {
    return {process::now() - std::max(nanoseconds{}, since_1970() - record.began)};
}

bool await_agents(agent_claims const& claims, stop_signals& signals) {
    while (!claims.take()) {
        pollfd one{signals.fd(), POLLIN, 0};
        ::poll(&one, 1, 200);
        if (signals.read() > 0) return false;
    }
    return true;
}

void expect_jobs(cluster_record const& record, run_config const& config, cluster_nodes& nodes, nanoseconds now) {
    for (auto const& recorded : record.jobs) {
        auto const job = std::ranges::find(config.jobs, recorded.job, &job_config::name);
        std::vector<std::size_t> where;
        for (auto const& part : recorded.layout)
            if (auto const node = part.is_there ? find_node(nodes, part.node) : std::nullopt) where.push_back(*node);
        if (job == config.jobs.end() || where.empty()) continue;
        auto const number = static_cast<std::size_t>(job - config.jobs.begin());
        nodes.registry().expect(number, where, recorded.layout.size(), recorded.leaving, now);
    }
}

void restore_jobs(cluster_record const& record, cluster_jobs& jobs, nanoseconds now) {
    jobs.table().arrive(now);
    for (auto const& launch : record.jobs) jobs.restore(launch, now);
}

std::optional<std::vector<early_report>> await_nodes(cluster_nodes& nodes, stop_signals& signals, run_clock clock,
                                                     bool reattach, std::function<bool()> const& suffice) {
    constexpr std::size_t most_early = 10000;
    std::vector<early_report> early;
    auto const keep = [&](std::size_t node, node_report&& report) {
        if (early.size() < most_early) early.push_back({node, std::move(report)});
    };
    auto const begin = clock.now(), end = begin + reattach_patience, last = begin + last_patience;
    // A reattached run continues without nodes that do not answer, but not without any
    auto const may_go_on = [&] {
        bool const is_late = !reattach && any_up(nodes) && clock.now() >= begin + start_patience;
        bool const all_started = !is_any_starting(nodes.registry());
        if (!reattach) return all_started || (is_late && suffice());
        if (any_up(nodes)) return all_started || clock.now() >= end;
        return (all_started && !nodes.awaits_restart()) || clock.now() >= last;
    };
    nodes.start(reattach, clock.now());
    while (!may_go_on()) {
        std::vector<pollfd> fds{{signals.fd(), POLLIN, 0}};
        nodes.join(fds);
        ::poll(fds.data(), fds.size(), 100);
        nodes.receive(keep, clock.now());
        static_cast<void>(nodes.advance(clock.now()));
        nodes.send({}, 0, clock.now());
        if (signals.read() > 0) return std::nullopt;
    }
    return early;
}

void end_nodes(cluster_nodes& nodes, run_clock clock) {
    nodes.end(false);
    auto const until = clock.now() + end_patience;
    while (!nodes.have_ended(clock.now() >= until) && clock.now() < until + end_patience) {
        std::vector<pollfd> fds;
        nodes.join(fds);
        ::poll(fds.data(), fds.size(), 50);
        nodes.receive([](std::size_t, node_report&&) {}, clock.now());
    }
}

}  // namespace ration::program
