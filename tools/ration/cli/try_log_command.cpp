// SPDX-License-Identifier: BSL-1.0
#include "cli/try_log_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include <ration/process/input_file.hpp>
#include <ration/progress/log_adapter.hpp>

#include "common/printable.hpp"
#include "config/log.hpp"
#include "events/json_writer.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_try_log = R"(Examples:
  ration try-log train.log --pattern 'step (?<step>\d+) loss (?<loss>\S+)'
  python3 train.py 2>&1 | ration try-log - --preset huggingface --metric eval_loss

Exit codes: 0 a record was read; 1 no line gave a record; 2 wrong command line, pattern or file.)";

constexpr std::size_t most_unread = 5;      // lines that are shown
constexpr std::size_t longest_shown = 160;  // bytes of such a line

constexpr char const* readable = "name a file with the output of a job, or - for standard input";

/// The report in one line.
struct record {
    std::uint64_t step = 0;
    std::vector<std::pair<std::string, double>> metrics;  ///< in the order of the patterns

    void add(progress::report const& body) {
        bool const is_step = body.type == progress::message_type::step;
        step = body.step;
        metrics.emplace_back(is_step ? "loss" : std::string(body.metric), is_step ? body.loss_mean : body.value);
    }
};

void print_record(record const& one, bool as_json) {
    std::string line;
    if (as_json) {
        json_writer json(line);
        json.object([&] {
            json.member("step", one.step);
            json.key("metrics").object([&] {
                for (auto const& [name, value] : one.metrics) json.member(name, value);
            });
        });
    } else {
        line = fmt::format("step {}", one.step);
        for (auto const& [name, value] : one.metrics) line += fmt::format("  {} {}", name, value);
    }
    std::puts(line.c_str());
}

void print_result(progress::log_adapter const& adapter, std::uint64_t records, std::vector<std::string> const& unread,
                  bool as_json) {
    auto const& counts = adapter.counts();
    if (as_json) {
        std::string written;
        json_writer json(written);
        json.object([&] {
            json.member("lines", counts.lines);
            json.member("matched", counts.matched);
            json.member("records", records);
            json.member("unreadable", counts.unreadable);
            json.member("overlong", counts.overlong);
            json.member("costly", counts.costly);
            json.key("unread").array([&] {
                for (auto const& line : unread) json.value(line);
            });
        });
        std::puts(written.c_str());
        return;
    }
    fmt::print("{} of {} lines match, {} give a record\n", counts.matched, counts.lines, records);
    auto const& [group, text] = adapter.unreadable();
    if (!group.empty())
        fmt::print("Groups that are not a number: {}; the last is {} of '{}'\n", counts.unreadable, quoted(text),
                   group);
    if (counts.overlong > 0) fmt::print("{} lines are longer than 4096 bytes and were not read\n", counts.overlong);
    if (counts.costly > 0)
        fmt::print("{} lines were too costly to search and were not read; use simpler patterns\n", counts.costly);
    if (!unread.empty()) std::puts("The first lines that were not read:");
    for (auto const& line : unread) fmt::print("  {}\n", printable(line));
}

/// Passes the bytes of a log to an adapter, and collects what it does with each line.
class trial {
    progress::log_adapter adapter_;
    bool as_json_;
    std::uint64_t records_ = 0;
    std::vector<std::string> unread_;

public:
    trial(progress::log_adapter adapter, bool as_json) : adapter_(std::move(adapter)), as_json_(as_json) {}

    /// Byte by byte, so that the updates of one call are those of one line.
    void feed(std::string_view bytes) {
        for (std::size_t at = 0; at < bytes.size(); ++at) take(bytes.substr(at, 1));
    }

    [[nodiscard]] exit_code finish() {
        feed("\n");
        print_result(adapter_, records_, unread_, as_json_);
        return records_ > 0 ? exit_code::ok : exit_code::nothing_read;
    }

private:
    void take(std::string_view byte) {
        auto const before = adapter_.counts();
        record read;
        adapter_.feed(byte, [&read](progress::update const& update) { read.add(update.body); });
        auto const& now = adapter_.counts();
        if (!read.metrics.empty()) {
            ++records_;
            print_record(read, as_json_);
        }
        bool const lost = now.lines - before.lines > now.matched - before.matched || now.unreadable > before.unreadable;
        if (lost && now.overlong == before.overlong && unread_.size() < most_unread)
            unread_.emplace_back(adapter_.unread_line().substr(0, longest_shown));
    }
};

[[nodiscard]] result<void> read_all(process::descriptor const& file, trial& into) {
    std::string buffer(std::size_t{64} << 10, '\0');
    for (;;) {
        auto const got = process::read_next(file, buffer.data(), buffer.size());
        if (!got) {
            error failed = got.failure();
            failed.remedy = readable;
            return failed;
        }
        if (*got == 0) return {};
        into.feed(std::string_view(buffer).substr(0, *got));
    }
}

/// Standard input, or a file.
[[nodiscard]] result<process::descriptor> open_log(std::string const& file) {
    if (file == "-") return process::descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    return process::open_input(file, {.remedy = readable});
}

[[nodiscard]] result<progress::log_adapter, diagnostic> adapter_of(try_log_options const& options) {
    if (options.patterns.empty() && options.preset.empty())
        return diagnostic{.text = "try-log has no pattern; add --pattern REGEX or --preset NAME"};
    auto patterns = options.patterns;
    if (!options.preset.empty()) {
        auto of_preset = preset_patterns(options.preset, options.metric.empty() ? "loss" : options.metric);
        if (!of_preset) return diagnostic{.text = "--preset: " + of_preset.failure().text};
        patterns = std::move(of_preset).value();
    }
    if (auto const fits = check_log_patterns(patterns, options.metric); !fits) return fits.failure();
    return progress::log_adapter::make(patterns, job_id{}, incarnation_id{}).value();
}

}  // namespace

void add_options(CLI::App& to, try_log_options& into, option_context& context) {
    to.footer(notes_of_try_log);
    to.add_option("FILE", into.file, "The output of a job; - reads standard input")->required()->type_name("");
    auto* const patterns =
        to.add_option("--pattern", into.patterns, "A regular expression as in 'log'; may be given several times");
    patterns->type_name("REGEX")->allow_extra_args(false);
    auto* const preset = to.add_option("--preset", into.preset, "A preset of 'log', such as huggingface");
    preset->type_name("NAME")->excludes(patterns);
    for (auto const name : log_presets()) context.offers[preset].words.emplace_back(name);
    to.add_option("--metric", into.metric, "The metric of the job's target")->type_name("NAME");
    to.add_flag("--json", into.json, "One JSON line for each record, then one with the counts");
}

exit_code try_log(try_log_options const& options) {
    auto adapter = adapter_of(options);
    if (!adapter) return fail(exit_code::bad_input, to_text(adapter.failure()));
    auto const file = open_log(options.file);
    if (!file)
        return fail(exit_code::bad_input, fmt::format("{}: {}", options.file, process::input_sentence(file.failure())));
    trial attempt(std::move(adapter).value(), options.json);
    if (auto const read = read_all(*file, attempt); !read)
        return fail(exit_code::bad_input, fmt::format("{}: {}", options.file, process::input_sentence(read.failure())));
    return attempt.finish();
}

}  // namespace ration::program
