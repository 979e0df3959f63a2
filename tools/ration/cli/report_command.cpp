// SPDX-License-Identifier: BSL-1.0
#include "cli/report_command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <system_error>

#include "common/printable.hpp"
#include "report/page.hpp"
#include "run/run_folder.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_report = R"(Examples:
  ration run jobs.toml; ration report latest
  ration run jobs.toml --compare none --log run.jsonl; ration report run.jsonl
  ration report monday.jsonl tuesday.jsonl --out week.html
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,las --json > sim.json && ration report sim.json

The page opens without a network. A log of a run that was killed is fine. docs/report.md describes the page.
Exit codes: 0 the page is there; 2 wrong command line, a file that is not a log, or a page that cannot be written; 5 an error in ration.)";

/// Where the page goes without an option: beside the first log.
[[nodiscard]] std::string page_beside(std::string const& log) {
    return std::filesystem::path(log).replace_extension(".html").string();
}

[[nodiscard]] bool is_one_of(std::string const& path, std::vector<std::string> const& files) {
    std::error_code ignored;
    for (auto const& file : files)
        if (file == path || std::filesystem::equivalent(file, path, ignored)) return true;
    return false;
}

[[nodiscard]] std::string counted(std::size_t number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

[[nodiscard]] std::string summary_of(report_input const& input) {
    std::size_t jobs = 0;
    for (auto const& run : input.runs) jobs += run.jobs.size();
    std::string text;
    if (!input.runs.empty()) text = fmt::format("{} with {}", counted(input.runs.size(), "run"), counted(jobs, "job"));
    if (!input.simulations.empty())
        text += (text.empty() ? "" : " and ") + counted(input.simulations.size(), "simulation");
    return text;
}

}  // namespace

void add_options(CLI::App& to, report_options& into, option_context&) {
    to.footer(notes_of_report);
    to.add_option(
          "LOG", into.logs,
          "Runs of 'ration runs', 'latest', event logs that 'ration run --log' wrote, or what 'ration sim --json' printed")
        ->required()
        ->type_name("...");
    to.add_option(
          "--out", into.out,
          "Write the page into this file; without it beside the first log, with .html at its end. What was in it is lost")
        ->type_name("FILE.html");
}

exit_code report(report_options const& options) {
    std::vector<std::string> logs;
    for (auto const& word : options.logs) {
        auto log = event_log_named(word);
        if (!log) return fail(exit_code::bad_input, log.failure().text);
        logs.push_back(std::move(log).value());
    }
    std::string const out = options.out.empty() ? page_beside(logs.front()) : options.out;
    if (is_one_of(out, logs))
        return fail(exit_code::bad_input,
                    fmt::format("{} is a log that the page is made from; name another file by --out", out));
    report_input input;
    for (auto const& log : logs)
        if (auto const read = read_report_input(log, input); !read)
            return fail(exit_code::bad_input, to_text(read.failure()));
    if (input.runs.empty() && input.simulations.empty())
        return fail(exit_code::bad_input,
                    fmt::format("{} holds neither a run nor a simulation; name a log that 'ration run --log' wrote",
                                logs.front()));
    auto const summary = summary_of(input);
    for (auto const& remark : input.remarks) std::fprintf(stderr, "ration: %s\n", printable(remark).c_str());
    auto const page = report_page(std::move(input));
    if (!write_page(page, out, options.out.empty() ? "report" : "--out")) return exit_code::bad_input;
    if (!has_charts()) std::fprintf(stderr, "ration: %s\n", std::string(how_to_get_charts).c_str());
    fmt::print("{}: {}, {} kB\n", printable(out), summary, page.size() / 1000);
    return exit_code::ok;
}

}  // namespace ration::program
