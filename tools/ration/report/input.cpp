// SPDX-License-Identifier: BSL-1.0
#include "report/input.hpp"

#include <fmt/format.h>
#include <optional>

#include <ration/process/input_file.hpp>

#include "events/json_reader.hpp"
#include "events/log_lines.hpp"
#include "events/log_version.hpp"
#include "report/run_json.hpp"
#include "report/run_recorder.hpp"

namespace ration::program {
namespace {

constexpr char const* name_a_log = "name a log that 'ration run --log' wrote, or what 'ration sim --json' printed";

/// Sorts the lines of one file into runs and simulations.
class input_reader {
    std::string const& file_;
    report_input& into_;
    std::optional<run_recorder> run_;
    std::int64_t number_ = 0, first_line_ = 0;

public:
    input_reader(std::string const& file, report_input& into) : file_(file), into_(into) {}

    [[nodiscard]] result<void, diagnostic> take(std::string const& text) {
        ++number_;
        auto const line = parse_json(text);
        if (!line.is_object()) return diagnostic{.text = fmt::format("this is not an event; {}", name_a_log)};
        auto const event = line.find("event");
        if (event == line.end() || !event->is_string())
            return diagnostic{.text = fmt::format("this is not an event; {}", name_a_log)};
        if (*event == "simulation") return simulation(line);
        if (*event == "measured") return measured(line);
        if (*event == "comparison") return {};  // of `ration run --json`: made from the runs before it
        if (*event == "run") return begin(line);
        if (!run_) return diagnostic{.text = fmt::format("the log does not begin with a run; {}", name_a_log)};
        return run_->take(line);
    }

    void end() {
        if (!run_) return;
        auto& run = into_.runs.emplace_back(std::move(*run_).finish());
        run.file = file_;
        run.first_line = first_line_;
        run_.reset();
    }

    [[nodiscard]] std::int64_t number() const noexcept { return number_; }

private:
    [[nodiscard]] result<void, diagnostic> begin(nlohmann::json const& line) {
        end();
        if (into_.runs.size() == most_runs)
            return diagnostic{
                .text = fmt::format("a page holds at most {} runs, and this is one more; name fewer logs", most_runs)};
        if (auto const read = check_schema(schema_of(line)); !read) return read;
        first_line_ = number_;
        run_.emplace();
        return run_->take(line);
    }

    [[nodiscard]] result<void, diagnostic> simulation(nlohmann::json const& line) {
        constexpr std::size_t most_simulations = 16;
        end();
        if (into_.simulations.size() == most_simulations)
            return diagnostic{
                .text = fmt::format("a page holds at most {} simulations, and this is one more; name fewer files",
                                    most_simulations)};
        auto& one = into_.simulations.emplace_back();
        one.file = file_;
        return read_simulation_line(line, one.figures);
    }

    [[nodiscard]] result<void, diagnostic> measured(nlohmann::json const& line) {
        if (into_.simulations.empty() || into_.simulations.back().file != file_)
            return diagnostic{.text = "it belongs to a simulation, and there is none before it"};
        return read_measured_line(line, into_.simulations.back().measured);
    }
};

}  // namespace

result<void, diagnostic> read_report_input(std::string const& path, report_input& into) {
    auto lines = log_lines::open(path, name_a_log);
    if (!lines) return diagnostic{.file = path, .text = process::input_sentence(lines.failure())};
    input_reader reader(path, into);
    for (std::string text; lines->next(text);) {
        bool const half = !lines->whole() && reader.number() > 0;
        if (half && !nlohmann::json::accept(text)) {
            into.remarks.push_back(fmt::format(
                "The last line of {} is half a line and was left out: ration or its machine ended while it was written.",
                path));
            break;
        }
        if (auto const taken = reader.take(text); !taken) return at_line(path, reader.number(), taken.failure());
    }
    if (!lines->status()) return at_line(path, reader.number() + 1, lines->status().failure());
    if (reader.number() == 0) return diagnostic{.text = fmt::format("{} is empty; {}", path, name_a_log)};
    reader.end();
    into.lines += reader.number();
    return {};
}

}  // namespace ration::program
