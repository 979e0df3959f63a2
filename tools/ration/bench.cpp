// SPDX-License-Identifier: BSL-1.0
// `ration bench`: what a decision of a policy costs, and how near it is to the best one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench/runs.hpp"
#include "bench/table.hpp"
#include "events/machine.hpp"
#include "policies/policy_log.hpp"
#include "problem.hpp"
#include "run.hpp"
#include "view/screen_line.hpp"

namespace ration::program {
namespace {

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
