// SPDX-License-Identifier: BSL-1.0
#include "cli/bench_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench/runs.hpp"
#include "bench/table.hpp"
#include "command_line/option_checks.hpp"
#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "events/machine.hpp"
#include "policies/policy_log.hpp"
#include "view/screen_line.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_bench = R"(Examples:
  ration bench --policies equal_share,tradl
  ration bench --policies ./libmine.so,srtf --jobs 100,10000 --devices 1024
  ration bench --policies ./libmine.so --isolation in-process --seed 7 --json | jq '.policies[].quality'

docs/bench.md describes the measurement and good values. Exit codes: 0 every answer was good; 1 a policy granted what the rules do
not allow, gave no answer, or had to be ended; 2 wrong command line or file, or no policy that can be measured.)";

constexpr int most_count = 100'000;
constexpr std::size_t most_digits = 6;

[[nodiscard]] result<void, diagnostic> check_count(std::string const& word) {
    bool const digits =
        !word.empty() && word.size() <= most_digits && word.find_first_not_of("0123456789") == std::string::npos;
    if (digits && std::stoi(word) >= 1 && std::stoi(word) <= most_count) return {};
    return diagnostic{.text = fmt::format("{} is not a number from 1 to {}", program::quoted(word), most_count)};
}

[[nodiscard]] result<void, diagnostic> check_isolation(std::string_view word) {
    if (word == "worker" || word == "in-process") return {};
    return diagnostic{.text = "it may be worker or in-process, not " + program::quoted(word) +
                              suggestion(word, {"worker", "in-process"})};
}

/// How far it is, on standard error: redrawn on a terminal, a line now and then elsewhere. In the thread that measures,
/// while nothing is measured.
class progress_line {
    using clock = std::chrono::steady_clock;
    static constexpr std::uint32_t bar_columns = 24;
    static constexpr std::chrono::seconds pause{10};
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    clock::time_point last_ = clock::now();

public:
    void operator()(std::size_t done, std::size_t all, std::string const& next) {
        if (terminal_) return draw(done, all, next);
        if (next.empty() || clock::now() - last_ < pause) return;
        last_ = clock::now();
        fmt::print(stderr, "{} of {} measured, now {}\n", done, all, next);
    }

private:
    static void draw(std::size_t done, std::size_t all, std::string const& next) {
        winsize size{};
        std::uint32_t const width =
            ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
        auto const full = static_cast<std::uint32_t>(bar_columns * done / std::max<std::size_t>(all, 1));
        auto const text = fmt::format("[{}{}] {}", std::string(full, '#'), std::string(bar_columns - full, '-'), next);
        fmt::print(stderr, "\r{}\x1b[K", next.empty() ? std::string_view() : first_columns(text, width - 1));
        std::fflush(stderr);
    }
};

}  // namespace

void add_options(CLI::App& to, bench_options& into, option_context& context) {
    to.footer(notes_of_bench);
    auto const list = [&](char const* name, auto& values, char const* help) {
        return to.add_option(name, values, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(1);
    };
    list("--policies", into.policies, "Names of policies, or paths of a .so; 'ration policies' lists them")
        ->required()
        ->delimiter(',')
        ->type_name("A,B")
        ->check(policy_check(context));
    list("--jobs", into.jobs, "How many jobs there are, one cluster for each number; 1,100,10000 when left out")
        ->delimiter(',')
        ->type_name("N,M")
        ->check(checked_by(check_count));
    list("--devices", into.devices, "How many devices there are, each with 8 cores, likewise; 64,1024 when left out")
        ->delimiter(',')
        ->type_name("N,M")
        ->check(checked_by(check_count));
    to.add_option_function<std::string>(
          "--isolation", [&into](std::string const& word) { into.in_process = word == "in-process"; },
          "Where a .so runs: worker, as 'ration run' does it, or in-process; worker when left out")
        ->type_name("WORD")
        ->check(checked_by(check_isolation));
    add_setting_option(to, into.settings, "A parameter of a policy, as in las.promote=0");
    to.add_option("--seed", into.seed, "Of the clusters and the small problems; 1 when left out")
        ->type_name("N")
        ->check(checked_by(parse_seed));
    to.add_flag("--json", into.json, "All figures, and what machine this is, as one JSON object");
}

exit_code bench(bench_options const& options) {
    diagnostics problems;
    auto const all = ration::bench::run_all(options, progress_line(), problems);
    print_to_stderr(problems, "ration: ");
    if (!problems.empty()) return exit_code::bad_input;
    for (auto const& policy : options.policies) print_to_stderr(policy_log::common_to(policy), policy);
    auto style = style_of_environment();
    style.colour = style.colour && ::isatty(STDOUT_FILENO) == 1;
    fmt::print("{}{}", options.json ? as_json(all, machine_here()) : table_text(all, machine_here(), style),
               options.json ? "\n" : "");
    if (std::ranges::any_of(all.policies, ration::bench::went_wrong)) return exit_code::policy_failed;
    bool const nobody = std::ranges::none_of(all.policies, [](auto const& c) { return c.left_out.empty(); });
    return nobody ? exit_code::bad_input : exit_code::ok;
}

}  // namespace ration::program
