// SPDX-License-Identifier: BSL-1.0
#include "report/input.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "events/log_version.hpp"
#include "report/run_json.hpp"
#include "report/run_recorder.hpp"

namespace ration::program {
namespace {

constexpr std::size_t longest_line = std::size_t{64} << 20;
constexpr std::string_view what_to_name = "name a log that 'ration run --log' wrote, or what 'ration sim --json' printed";

/// Lines of a file, none longer than `longest_line`.
class line_reader {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    char buffer_[1 << 16];
    std::size_t have_ = 0, at_ = 0;

public:
    bool whole = true;  ///< the last line ended in a newline
    bool too_long = false;

    explicit line_reader(std::string const& path) : file_(std::fopen(path.c_str(), "rb"), &std::fclose) {}
    [[nodiscard]] bool good() const noexcept { return file_ != nullptr; }
    [[nodiscard]] bool failed() const noexcept { return std::ferror(file_.get()) != 0; }

    /// False at the end. A line at the end without a newline is one, and `whole` is false then.
    [[nodiscard]] bool next(std::string& line) {
        line.clear();
        for (;;) {
            if (at_ == have_) {
                at_ = 0, have_ = std::fread(buffer_, 1, sizeof buffer_, file_.get());
                if (have_ == 0) return whole = false, !line.empty();
            }
            auto const* const begin = buffer_ + at_;
            auto const* const end = static_cast<char const*>(std::memchr(begin, '\n', have_ - at_));
            std::size_t const length = end == nullptr ? have_ - at_ : static_cast<std::size_t>(end - begin);
            if (line.size() + length > longest_line) return too_long = true;
            line.append(begin, length);
            at_ += length;
            if (end != nullptr) return ++at_, whole = true;
        }
    }
};

/// Sorts the lines of one file into runs and simulations.
class input_reader {
    std::string const& file_;
    report_input& into_;
    std::optional<run_recorder> run_;
    std::int64_t number_ = 0, first_line_ = 0;

public:
    input_reader(std::string const& file, report_input& into) : file_(file), into_(into) {}

    [[nodiscard]] std::string take(std::string const& text) {
        ++number_;
        auto const line = nlohmann::json::parse(text, nullptr, false);
        if (!line.is_object()) return fmt::format("this is no event; {}", what_to_name);
        auto const event = line.find("event");
        if (event == line.end() || !event->is_string()) return fmt::format("this is no event; {}", what_to_name);
        if (*event == "simulation") return simulation(line);
        if (*event == "measured") return measured(line);
        if (*event == "comparison") return {};  // of `ration run --json`: made from the runs before it
        if (*event == "run") return begin(line);
        if (!run_) return fmt::format("the log does not begin with a run; {}", what_to_name);
        return run_->take(line);
    }

    void end() {
        if (!run_) return;
        auto& run = into_.runs.emplace_back(std::move(*run_).finish());
        run.file = file_, run.first_line = first_line_;
        run_.reset();
    }

    [[nodiscard]] std::int64_t number() const noexcept { return number_; }

private:
    [[nodiscard]] std::string begin(nlohmann::json const& line) {
        end();
        if (into_.runs.size() == most_runs) return fmt::format("a page holds at most {} runs, and this is one more; name fewer logs", most_runs);
        if (auto why = trouble_with_schema(schema_of(line)); !why.empty()) return why;
        first_line_ = number_;
        run_.emplace();
        return run_->take(line);
    }

    [[nodiscard]] std::string simulation(nlohmann::json const& line) {
        constexpr std::size_t most_simulations = 16;
        end();
        if (into_.simulations.size() == most_simulations) return fmt::format("a page holds at most {} simulations, and this is one more; name fewer files", most_simulations);
        auto& one = into_.simulations.emplace_back();
        one.file = file_;
        return read_simulation_line(line, one.figures);
    }

    [[nodiscard]] std::string measured(nlohmann::json const& line) {
        if (into_.simulations.empty() || into_.simulations.back().file != file_) return "it belongs to a simulation, and there is none before it";
        return read_measured_line(line, into_.simulations.back().measured);
    }
};

[[nodiscard]] std::string refusal(std::string const& path, std::int64_t line, std::string const& why) { return fmt::format("{}:{}: {}", path, line, why); }

}  // namespace

std::string read_report_input(std::string const& path, report_input& into) {
    line_reader lines(path);
    if (!lines.good()) return fmt::format("{} cannot be opened ({}); {}", path, std::strerror(errno), what_to_name);
    input_reader reader(path, into);
    for (std::string text; lines.next(text);) {
        if (lines.too_long) return refusal(path, reader.number() + 1, "the line has more than 64 MiB, which no event has; " + std::string(what_to_name));
        bool const half = !lines.whole && reader.number() > 0;
        if (half && !nlohmann::json::accept(text)) {
            into.remarks.push_back(fmt::format("The last line of {} is half a line and was left out: ration or its machine ended while it was written.", path));
            break;
        }
        if (auto why = reader.take(text); !why.empty()) return refusal(path, reader.number(), why);
    }
    if (lines.failed()) return fmt::format("{} cannot be read to its end; {}", path, what_to_name);
    if (reader.number() == 0) return fmt::format("{} is empty; {}", path, what_to_name);
    reader.end();
    into.lines += reader.number();
    return {};
}

}  // namespace ration::program
