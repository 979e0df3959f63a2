// SPDX-License-Identifier: BSL-1.0
#include "run/metric_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <utility>

#include <ration/process/input_file.hpp>

#include "common/printable.hpp"
#include "common/trimmed.hpp"
#include "events/json_reader.hpp"
#include "run/output_tail.hpp"

namespace ration::program {
namespace {

constexpr std::size_t longest_row = std::size_t{64} << 10;
constexpr std::size_t most_each_time = std::size_t{64} << 10;
constexpr std::size_t longest_head = 4096;
constexpr nanoseconds search_interval = seconds(1);
constexpr std::size_t longest_sample = 120;
constexpr std::size_t most_tags_shown = 32;

constexpr process::input_rules metrics_of_job{.remedy = "let 'metrics' name a regular file that the job writes"};

/// The cells of a row as RFC 4180 quotes them. A quoted cell ends with its line.
[[nodiscard]] std::vector<std::string> cells_of(std::string_view row) {
    std::vector<std::string> cells(1);
    bool quoted_cell = false;
    for (std::size_t at = 0; at < row.size(); ++at) {
        char const c = row[at];
        bool const doubled = quoted_cell && row.substr(at, 2) == "\"\"";
        if (doubled)
            cells.back() += row[at++];
        else if (c == '"')
            quoted_cell = !quoted_cell;
        else if (c == ',' && !quoted_cell)
            cells.emplace_back();
        else
            cells.back() += c;
    }
    return cells;
}

/// The titles of the columns: some writers pad them, or begin with a byte order mark.
[[nodiscard]] std::vector<std::string> titles_of(std::string_view row) {
    if (row.starts_with("\xEF\xBB\xBF")) row.remove_prefix(3);
    auto cells = cells_of(row);
    for (auto& cell : cells) cell = std::string(trimmed(cell));
    return cells;
}

/// JSON without the words NaN and Infinity, which Python writes: they become texts.
[[nodiscard]] std::string with_quoted_words(std::string_view json) {
    std::string out;
    bool in_text = false;
    for (std::size_t at = 0; at < json.size(); ++at) {
        auto const rest = json.substr(at);
        std::string_view word;
        for (std::string_view const one : {"NaN", "Infinity", "-Infinity"})
            if (!in_text && rest.starts_with(one)) word = one;
        if (!word.empty()) {
            out += fmt::format("\"{}\"", word);
            at += word.size() - 1;
            continue;
        }
        if (json[at] == '"') in_text = !in_text;
        out += json[at];
        if (in_text && json[at] == '\\' && rest.size() > 1) out += json[++at];
    }
    return out;
}

[[nodiscard]] std::string step_column(metric_file_config const& config) { return config.step.value_or("step"); }

/// A sentence on a header without the named column; empty if it has it.
[[nodiscard]] std::string missing_step(metric_file_config const& config, std::vector<std::string> const& header) {
    if (!config.step || std::ranges::find(header, *config.step) != header.end()) return {};
    return fmt::format("it has no column {} for the step, so its rows are counted; name one of {}",
                       quoted(*config.step), fmt::format("{}", fmt::join(header, ", ")).substr(0, 2 * longest_sample));
}

/// The text of a number of a JSON object; empty if the key is absent or null.
[[nodiscard]] std::string text_of(nlohmann::json const& object, std::string const& key) {
    auto const found = object.find(key);
    if (found == object.end() || found->is_null()) return {};
    return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : "no number";
}

}  // namespace

metric_file::metric_file(metric_file_config const& config, std::string const& directory, job_id job, incarnation_id run,
                         existing_rows existing)
    : config_(config),
      pattern_(config.path.starts_with('/') || directory.empty() ? config.path : directory + '/' + config.path),
      lines_(longest_row), values_(job, run) {
    if (existing == existing_rows::read) return;
    for (auto const& found : matches()) existing_.emplace(found.path, found.about);
}

bool metric_file::poll(nanoseconds now, handler const& handle) {
    if (read_next(handle) > 0) return true;  // the last rows of a file, before a newer one takes its place
    if (file_ && now - searched_at_ < search_interval) return false;
    searched_at_ = now;
    search();
    return read_next(handle) > 0;
}

bool metric_file::poll_last(handler const& handle) {
    if (read_next(handle) > 0) return true;
    if (std::exchange(searched_last_, true)) return false;
    search();
    return true;
}

void metric_file::finish(bool is_whole, handler const& handle) {
    bool const has_lines = file_ && config_.format != metric_format::tensorboard;
    if (!has_lines || !is_whole || is_end_of_buffer(static_cast<std::uint64_t>(offset_))) return;
    if (lines_.put('\n')) take_line(handle);
}

std::uint64_t metric_file::unread_bytes() const noexcept {
    struct stat about{};
    if (!file_ || ::fstat(file_.get(), &about) != 0) return 0;
    return static_cast<std::uint64_t>(std::max<off_t>(about.st_size - offset_, 0));
}

/// Returns the number of bytes that were read.
off_t metric_file::read_next(handler const& handle) {
    if (!file_) return 0;
    if (was_written_anew()) restart(rows_, 0);
    buffer_.resize(most_each_time);
    ssize_t const got = ::pread(file_.get(), buffer_.data(), buffer_.size(), offset_);
    if (got > 0) feed(std::string_view(buffer_).substr(0, static_cast<std::size_t>(got)), handle);
    return std::max<ssize_t>(got, 0);
}

metric_file::version metric_file::version::of(struct stat const& about) noexcept {
    return {about.st_dev, about.st_ino, about.st_size,
            about.st_mtim.tv_sec * std::int64_t{1'000'000'000} + about.st_mtim.tv_nsec};
}

std::vector<metric_file::candidate> metric_file::matches() {
    std::vector<candidate> out;
    if (too_wide_) return out;
    path_search within;
    for (auto const& path : within.expand(pattern_)) add_match(path, within, out);
    if (!within.exceeded()) return out;
    too_wide_ = true;
    problem_ = fmt::format("{}: the pattern leads to more than {} files and folders; name fewer", pattern_,
                           path_search::most_entries);
    return {};
}

/// A folder of TensorBoard means the event files in it; those in its subfolders are of other writers.
void metric_file::add_match(std::string const& path, path_search& within, std::vector<candidate>& into) const {
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) return;
    if (config_.format != metric_format::tensorboard || !S_ISDIR(about.st_mode))
        return into.push_back({path, version::of(about)});
    std::vector<std::string> files;
    within.add_entries(path, "*tfevents*", files);
    for (auto& file : files)
        if (::stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode))
            into.push_back({std::move(file), version::of(about)});
}

/// Files that did not change since the start are of an earlier run.
void metric_file::search() {
    auto found = matches();
    std::erase_if(found, [this](candidate const& one) {
        auto const old = existing_.find(one.path);
        return old != existing_.end() && old->second == one.about;
    });
    auto const newest = std::ranges::max_element(found, {}, [](candidate const& one) { return one.about.modified_ns; });
    if (newest == found.end()) return;
    bool const is_open = file_ && path_ == newest->path && opened_.device == newest->about.device &&
                         opened_.inode == newest->about.inode;
    if (!is_open) open(*newest);
}

void metric_file::open(candidate const& found) {
    bool const same_path = path_ == found.path;
    path_ = found.path;
    auto opened = process::open_input(path_, metrics_of_job);
    if (!opened) return report(process::input_sentence(opened.failure()));
    file_ = std::move(opened).value();
    opened_ = found.about;
    auto const old = existing_.find(path_);
    bool const grew =
        old != existing_.end() && old->second.inode == found.about.inode && old->second.size <= found.about.size;
    restart(same_path ? rows_ : 0, grew ? old->second.size : 0);
}

void metric_file::restart(std::uint64_t skipped_rows, off_t skipped_bytes) {
    offset_ = 0;
    skipped_bytes_ = skipped_bytes;
    skipped_rows_ = skipped_rows;
    rows_ = 0;
    head_.clear();
    header_.clear();
    lines_ = progress::line_reader(longest_row);
    records_ = {};
}

/// Lightning writes the whole file again when a metric is added.
bool metric_file::was_written_anew() {
    struct stat about{};
    if (::fstat(file_.get(), &about) != 0 || about.st_size == offset_) return false;
    if (about.st_size < offset_) return true;
    std::string now(head_.size(), '\0');
    ssize_t const got = ::pread(file_.get(), now.data(), now.size(), 0);
    return got != static_cast<ssize_t>(head_.size()) || now != head_;
}

void metric_file::feed(std::string_view bytes, handler const& handle) {
    head_ += bytes.substr(0, longest_head - std::min(longest_head, head_.size()));
    for (char const byte : bytes) {
        ++offset_;
        if (config_.format == metric_format::tensorboard)
            take_record(records_.put(byte), handle);
        else if (lines_.put(byte))
            take_line(handle);
    }
}

void metric_file::take_line(handler const& handle) {
    auto const line = lines_.line();
    if (line.empty()) return;
    if (lines_.overlong()) return report("a row is longer than 64 KiB; write shorter rows");
    if (config_.format == metric_format::csv && header_.empty()) {
        header_ = titles_of(line);
        if (auto const why = missing_step(config_, header_); !why.empty()) report(why);
        return;
    }
    if (!is_new_row()) return;
    config_.format == metric_format::csv ? take_csv(line, handle) : take_json(line, handle);
}

bool metric_file::is_new_row() noexcept {
    if (++rows_ <= skipped_rows_ || offset_ <= skipped_bytes_) return false;
    ++rows_read_;
    return true;
}

void metric_file::take_record(event_records::outcome found, handler const& handle) {
    using enum event_records::outcome;
    if (found == damaged) report("a record has a wrong checksum and is skipped; check the disk and the writer");
    if (found == lost)
        report("it has no TensorBoard events, or is damaged; name a file events.out.tfevents.* or its folder");
    if (found != record) return;
    auto const event = read_event(records_.record());
    if (!event) return report("a record is not a TensorBoard event; name a file events.out.tfevents.* or its folder");
    if (!event->scalars.empty() && is_new_row()) take_event(*event, handle);
}

void metric_file::take_event(scalar_event const& event, handler const& handle) {
    for (auto const& scalar : event.scalars) {
        if (header_.size() < most_tags_shown && std::ranges::find(header_, scalar.tag) == header_.end())
            header_.emplace_back(scalar.tag);
        for (auto const& [metric, tag] : config_.columns) {
            if (tag != scalar.tag) continue;
            values_.set_step(event.step);
            values_.take(metric, scalar.value, handle);
        }
    }
}

void metric_file::take_csv(std::string_view line, handler const& handle) {
    auto const cells = cells_of(line);
    auto const cell = [&](std::string const& column) -> std::string {
        auto const at = static_cast<std::size_t>(std::ranges::find(header_, column) - header_.begin());
        return at < std::min(cells.size(), header_.size()) ? cells[at] : std::string();
    };
    take_row(cell, handle);
}

void metric_file::take_json(std::string_view line, handler const& handle) {
    auto row = parse_json(line);
    if (row.is_discarded()) row = parse_json(with_quoted_words(line));
    if (!row.is_object())
        return report(
            fmt::format("{} is not a JSON object; write one in each line", quoted(line.substr(0, longest_sample))));
    take_row([&](std::string const& key) { return text_of(row, key); }, handle);
}

/// `cell`: the text of a column.
void metric_file::take_row(std::function<std::string(std::string const&)> const& cell, handler const& handle) {
    auto const lost = values_.take_step(cell(step_column(config_)), rows_);
    report(lost);
    for (auto const& [metric, column] : config_.columns)
        lost.empty() ? report(values_.take_text(metric, cell(column), handle)) : values_.lose(metric);
}

void metric_file::report(std::string_view cause) {
    if (problem_.empty() && !cause.empty()) problem_ = fmt::format("{}: {}", path_, cause);
}

}  // namespace ration::program
