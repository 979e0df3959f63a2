// SPDX-License-Identifier: BSL-1.0
#include "nodes/slurm_allocation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <ration/process/environment.hpp>
#include <ration/process/launch.hpp>

#include "common/printable.hpp"
#include "nodes/node_name.hpp"

namespace ration::program {
namespace {

/// Slurm's programs wait for minutes if its controller does not answer.
constexpr nanoseconds longest_call = seconds(20);
/// Slurm gives an allocation without a limit an end in a year.
constexpr std::int64_t seconds_without_limit = 360LL * 24 * 3600;
constexpr std::size_t most_output_bytes = std::size_t{64} << 10;

[[nodiscard]] diagnostic problem(std::string text) { return {.file = "--nodes", .text = std::move(text)}; }

[[nodiscard]] std::string variable(char const* name) {
    char const* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

[[nodiscard]] std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = std::min(text.find('\n', at), text.size());
        if (end > at) out.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

/// Everything until the end of the output. None: it is too long, or does not end in time.
[[nodiscard]] std::optional<std::string> read_all(int fd, nanoseconds deadline) {
    std::string out;
    for (std::array<char, 4096> part{}; out.size() <= most_output_bytes;) {
        auto const left = deadline - process::now();
        pollfd one{fd, POLLIN, 0};
        if (left <= nanoseconds{} || ::poll(&one, 1, static_cast<int>(left.count / 1'000'000) + 1) != 1)
            return std::nullopt;
        auto const n = ::read(fd, part.data(), part.size());
        if (n == 0) return out;
        if (n > 0) out.append(part.data(), static_cast<std::size_t>(n));
    }
    return std::nullopt;
}

/// The output of a program of Slurm. Errors: a diagnostic with it.
[[nodiscard]] result<std::string, diagnostic> output_of(std::vector<std::string> const& words,
                                                        std::vector<std::string> const& more = {}) {
    auto environment = process::current_environment();
    environment.insert(environment.begin(), more.begin(), more.end());  // the first one counts
    auto child = process::launch({.command = words, .environment = std::move(environment)});
    if (!child)
        return problem(fmt::format("the program {} of Slurm cannot be started; add its folder to PATH", words.front()));
    auto const deadline = process::now() + longest_call;
    auto text = read_all(child->output_fd(), deadline);
    auto const ended = child->wait_for(text ? deadline - process::now() : nanoseconds{});
    if (!ended) static_cast<void>(child->signal_group(SIGKILL));
    if (text && ended && ended->success()) return std::move(*text);
    if (!text || !ended)
        return problem(fmt::format("{} {}: it does not end; run it by hand in this allocation", words[0], words[1]));
    auto const lines = lines_of(*text);
    return problem(fmt::format("{} {}: {}; run it by hand in this allocation", words[0], words[1],
                               quoted(lines.empty() ? "" : lines.back().substr(0, 200))));
}

[[nodiscard]] bool is_in_path(std::string_view program) {
    auto const path = variable("PATH");
    for (std::size_t at = 0; at <= path.size();) {
        auto const end = std::min(path.find(':', at), path.size());
        auto const file = path.substr(at, end - at) + '/' + std::string(program);
        if (::access(file.c_str(), X_OK) == 0) return true;
        at = end + 1;
    }
    return false;
}

/// Variables that describe another step. srun would take them for options of the agent's step.
[[nodiscard]] std::vector<std::string> variables_of_steps() {
    constexpr std::array<std::string_view, 13> prefixes{
        "SLURM_STEP",          "SLURM_NTASKS",   "SLURM_NPROCS",        "SLURM_CPUS_PER_TASK",  "SLURM_MEM_PER_",
        "SLURM_EXACT",         "SLURM_OVERLAP",  "SLURM_TRES_PER_TASK", "SLURM_TASKS_PER_NODE", "SLURM_CPU_BIND",
        "SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND", "SLURM_DISTRIBUTION"};
    std::vector<std::string> out;
    for (auto const& entry : process::current_environment())
        if (std::ranges::any_of(prefixes, [&](std::string_view prefix) { return entry.starts_with(prefix); }))
            out.push_back(entry.substr(0, entry.find('=')));
    return out;
}

/// The step has all CPUs, memory and GPUs of its node. `--overlap`: other steps keep theirs.
[[nodiscard]] node_spec node_of(std::string const& job, std::string const& host, std::uint32_t cpus,
                                std::string const& program) {
    node_spec node{.name = host, .command = {"env"}, .cpus = cpus};
    for (auto const& name : variables_of_steps()) node.command.insert(node.command.end(), {"-u", name});
    node.command.insert(node.command.end(), {"srun", "--quiet", "--jobid=" + job, "--nodes=1", "--ntasks=1",
                                             "--nodelist=" + host, fmt::format("--cpus-per-task={}", cpus), "--overlap",
                                             "--mem=0", "--mpi=none", "--export=ALL", program, "node"});
    return node;
}

/// SLURM_JOB_END_TIME exists since Slurm 23.
[[nodiscard]] std::optional<std::int64_t> end_of(std::string const& job) {
    auto text = variable("SLURM_JOB_END_TIME");
    if (text.empty())
        if (auto const read =
                output_of({"squeue", "--noheader", "--jobs=" + job, "--format=%e"}, {"SLURM_TIME_FORMAT=%s"}))
            text = lines_of(*read).empty() ? "" : lines_of(*read).front();
    std::int64_t end = 0;
    auto const read = std::from_chars(text.data(), text.data() + text.size(), end);
    bool const is_time = read.ec == std::errc() && read.ptr == text.data() + text.size();
    return is_time && end - std::time(nullptr) < seconds_without_limit ? std::optional(end) : std::nullopt;
}

}  // namespace

std::vector<std::uint32_t> read_cpus_per_node(std::string_view text) {
    std::vector<std::uint32_t> out;
    char const* at = text.data();
    char const* const end = text.data() + text.size();
    for (;;) {
        std::uint32_t cpus = 0, nodes = 1;
        auto read = std::from_chars(at, end, cpus);
        if (read.ec != std::errc()) return {};
        if (end - read.ptr > 2 && read.ptr[0] == '(' && read.ptr[1] == 'x') {
            read = std::from_chars(read.ptr + 2, end, nodes);
            if (read.ec != std::errc() || read.ptr == end || *read.ptr != ')') return {};
            ++read.ptr;
        }
        if (cpus == 0 || nodes == 0 || nodes > most_nodes - out.size()) return {};
        out.insert(out.end(), nodes, cpus);
        if (read.ptr == end) return out;
        if (*read.ptr != ',') return {};
        at = read.ptr + 1;
    }
}

result<slurm_allocation, diagnostic> read_slurm_allocation(std::string const& program) {
    auto const job = variable("SLURM_JOB_ID"), list = variable("SLURM_JOB_NODELIST");
    if (job.empty() || list.empty())
        return problem(
            "slurm needs an allocation, and SLURM_JOB_ID or SLURM_JOB_NODELIST is not set; start ration "
            "inside sbatch or salloc");
    if (!is_in_path("srun")) return problem("the program srun of Slurm cannot be started; add its folder to PATH");
    auto const names = output_of({"scontrol", "show", "hostnames", list});
    if (!names) return names.failure();
    auto const hosts = lines_of(*names);
    auto const cpus = read_cpus_per_node(variable("SLURM_JOB_CPUS_PER_NODE"));
    if (hosts.empty() || !std::ranges::all_of(hosts, is_node_name))
        return problem(
            fmt::format("scontrol show hostnames {}: the names of nodes cannot be read from its output; run "
                        "it by hand in this allocation",
                        quoted(list)));
    if (cpus.size() != hosts.size())
        return problem(fmt::format(
            "the allocation has {} node{}, and SLURM_JOB_CPUS_PER_NODE is {}; start ration inside "
            "sbatch or salloc with at most {} nodes",
            hosts.size(), hosts.size() == 1 ? "" : "s", quoted(variable("SLURM_JOB_CPUS_PER_NODE")), most_nodes));
    slurm_allocation out{.nodes = {}, .end = end_of(job)};
    for (std::size_t i = 0; i < hosts.size(); ++i) out.nodes.push_back(node_of(job, hosts[i], cpus[i], program));
    return out;
}

stop_timer::~stop_timer() {
    if (timer_) ::timer_delete(*timer_);
}

result<void> stop_timer::set(std::int64_t unix_time) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGTERM;
    timer_t timer{};
    itimerspec at{};
    at.it_value.tv_sec = static_cast<time_t>(std::max<std::int64_t>(unix_time, 1));  // 0 would be never
    if (::timer_create(CLOCK_REALTIME, &event, &timer) == 0) timer_ = timer;
    if (!timer_ || ::timer_settime(timer, TIMER_ABSTIME, &at, nullptr) != 0)
        return process::system_error("wait for the end of the allocation", "timer", errno, "");
    return {};
}

}  // namespace ration::program
