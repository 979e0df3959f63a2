// SPDX-License-Identifier: BSL-1.0
#include "cli/check_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <span>
#include <system_error>

#include <ration/process/input_file.hpp>

#include "check/containment.hpp"
#include "check/examine.hpp"
#include "command_line/option_checks.hpp"
#include "common/printable.hpp"
#include "events/json_writer.hpp"
#include "policies/plugin_policy.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_check = R"(Examples:
  ration check ./mine.so
  ration check ./mine.so --seed 7 --json | jq '.probes[] | select(.result != "passed")'

Every probe runs in a sandbox; one that hangs is killed. See docs/check.md. Exit codes: 0 every probe passed or does not apply;
1 a probe is red; 2 wrong command line, or the file cannot be read; 3 this kernel cannot contain the plugin, and no code of it ran.)";

using conformance::any_red;
using conformance::probe_result;
using conformance::subject;
using conformance::verdict;

/// Reads the file; nothing, and a sentence on standard error, when that cannot be done.
[[nodiscard]] std::optional<subject> open_subject(check_options const& options) {
    auto const refuse = [&](std::string const& why) {
        std::fprintf(stderr, "ration: %s: %s\n", printable(options.file).c_str(), why.c_str());
        return std::nullopt;
    };
    std::error_code failed;
    auto const path = std::filesystem::canonical(options.file, failed);
    if (failed) return refuse(failed.message() + "; name the .so of a policy");
    static constexpr process::input_rules plugin{.remedy = "name the .so of a policy",
                                                 .most_bytes = std::uint64_t{256} << 20,
                                                 .too_large = "is larger than 256 MiB"};
    auto const bytes = process::read_input(path.string(), plugin);
    if (!bytes) return refuse(process::input_sentence(bytes.failure()));
    subject s{.path = path.string(),
              .file = std::vector<std::byte>(bytes->size()),
              .config = options.config,
              .seed = options.seed};
    std::ranges::copy(std::as_bytes(std::span(*bytes)), s.file.begin());
    return s;
}

/// False, with a sentence on standard error, when no code of the plugin may run here.
[[nodiscard]] bool can_be_contained(check_options const& options, subject const& s) {
    if (auto const why = conformance::why_not_contained(s); !why.empty()) {
        std::fprintf(stderr,
                     "ration: %s: it cannot be contained, so its code was not run: %s; "
                     "check it outside of this container or on another kernel\n",
                     printable(options.file).c_str(), why.c_str());
        return false;
    }
    if (auto const why = why_workers_read_all(); !why.empty())
        std::fprintf(stderr, "ration: warning: %s\n", std::string(why).c_str());
    return true;
}

/// The lines of `text`, each behind a bar, the last few only.
void print_output(std::string_view text) {
    constexpr std::size_t most_lines = 6;
    while (text.ends_with('\n')) text.remove_suffix(1);
    std::size_t from = text.size();
    for (std::size_t lines = 0; lines < most_lines && from != text.npos && from > 0; ++lines)
        from = text.rfind('\n', from - 1);
    if (from != text.npos && from > 0) text.remove_prefix(from + 1);
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), text.find('\n')) + (text.find('\n') != text.npos)))
        fmt::print("      | {}\n", printable(text.substr(0, text.find('\n'))));
}

void print_line(probe_result const& r) {
    auto const is = r.found.is;
    std::string word(name_of(is));
    if (is_red(is))
        for (auto& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    auto const why = printable(r.found.why);
    fmt::print("{:<20} {:<9}{}{}\n", r.name, word, why.empty() ? "" : "  ", why);
    if (is_red(is)) print_output(r.found.output);
    std::fflush(stdout);
}

[[nodiscard]] long count_of(std::vector<probe_result> const& all, verdict v) {
    return std::ranges::count_if(all, [&](auto const& r) { return r.found.is == v; });
}

void print_summary(subject const& s, std::vector<probe_result> const& all) {
    auto const passed = count_of(all, verdict::passed), skipped = count_of(all, verdict::skipped);
    auto const red = static_cast<long>(all.size()) - passed - skipped;
    fmt::print("\n{} passed, {} red, {} skipped; seed {}\n", passed, red, skipped, s.seed);
    if (red == 0) {
        fmt::print("{} keeps the rules of the plugin ABI {}.{}, as far as these probes see.\n",
                   s.manifest.id[0] == '\0' ? "The plugin" : printable(s.manifest.id), RATION_ABI_MAJOR,
                   RATION_ABI_MINOR);
        return;
    }
    fmt::print("What to do:\n");
    for (auto const& r : all)
        if (is_red(r.found.is)) fmt::print("  {}: {}\n", r.name, r.remedy);
}

void write_probe(json_writer& json, probe_result const& r) {
    json.object([&] {
        json.member("probe", r.name);
        json.member("result", name_of(r.found.is));
        if (!r.found.why.empty()) json.member("why", r.found.why);
        if (!is_red(r.found.is)) return;
        json.member("remedy", r.remedy);
        if (!r.found.output.empty()) json.member("output", r.found.output);
    });
}

void print_json(subject const& s, std::vector<probe_result> const& all) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("file", s.path);
        json.member("id", std::string_view(s.manifest.id));
        json.member("version", std::string_view(s.manifest.version));
        json.member("seed", s.seed);
        json.member("passed", !any_red(all));
        json.key("probes").array([&] {
            for (auto const& r : all) write_probe(json, r);
        });
    });
    std::puts(out.c_str());
}

}  // namespace

void add_options(CLI::App& to, check_options& into, option_context&) {
    to.footer(notes_of_check);
    to.add_option("FILE", into.file, "The .so of a policy")->required()->type_name("");
    to.add_option("--seed", into.seed, "Of the synthetic clusters; 1 when left out")
        ->type_name("N")
        ->check(checked_by(parse_seed));
    to.add_option("--config", into.config, "The text that the policy is created with, when it needs one")
        ->type_name("TEXT");
    to.add_flag("--json", into.json, "The results as one JSON object");
}

exit_code check(check_options const& options) {
    auto subject = open_subject(options);
    if (!subject) return exit_code::bad_input;
    if (!can_be_contained(options, *subject)) return exit_code::no_backend;
    auto const all = conformance::examine(*subject, [&](probe_result const& r) {
        if (!options.json) print_line(r);
    });
    options.json ? print_json(*subject, all) : print_summary(*subject, all);
    return any_red(all) ? exit_code::probe_failed : exit_code::ok;
}

}  // namespace ration::program
