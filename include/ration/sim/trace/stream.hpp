// SPDX-License-Identifier: BSL-1.0
/// Reads a trace job by job during a run, in memory that does not follow the length of the file.
///
/// Only for tables with one line for each job, in the order of submission. `scan_table` validates all lines first, so
/// that the errors of a file are found before the run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>

#include <ration/process/input_file.hpp>
#include <ration/sim/job_source.hpp>
#include <ration/sim/trace/read.hpp>

namespace ration::sim::trace {

namespace detail {

/// A file as blocks of whole lines. Several threads can read one descriptor, each with its own object.
class line_blocks {
    process::descriptor const& file_;
    std::size_t block_;
    std::uint64_t offset_ = 0;
    std::string text_;
    std::size_t given_ = 0;  // bytes of `text_` that were returned

    static constexpr std::size_t longest_line = std::size_t{1} << 20;

public:
    /// `file` has to outlive the object. `block`: bytes to read at a time.
    line_blocks(process::descriptor const& file, std::size_t block) noexcept : file_(file), block_(block) {}

    /// The next lines, valid until the next call; empty at the end of the file. Errors: `out_of_range` for a line of
    /// more than 1 MiB; those of pread(2).
    [[nodiscard]] result<std::string_view> next() {
        text_.erase(0, given_);
        given_ = 0;
        for (;;) {
            std::size_t const kept = text_.size();
            if (kept > longest_line)
                return error{.code = errc::out_of_range,
                             .operation = "has a line of over 1 MiB",
                             .remedy = "name a trace with one job in each line"};
            text_.resize(kept + block_);
            auto const got = process::read_at(file_, offset_, text_.data() + kept, block_);
            if (!got) return got.failure();
            text_.resize(kept + *got);
            offset_ += *got;
            // Up to `kept` is a part of one line. The last line of a file can have no newline.
            std::size_t const end = std::string_view(text_).substr(kept).rfind('\n');
            if (*got == 0)
                given_ = kept;
            else if (end != text_.npos)
                given_ = kept + end + 1;
            if (given_ > 0 || *got == 0) return std::string_view(text_).substr(0, given_);
        }
    }
};

/// When a file was written last, and its size.
struct file_version {
    std::int64_t seconds = -1, nanoseconds = -1, bytes = -1;
    friend bool operator==(file_version const&, file_version const&) noexcept = default;

    [[nodiscard]] static file_version of(process::descriptor const& file) noexcept {
        struct stat about{};
        if (::fstat(file.get(), &about) != 0) return {};
        return {about.st_mtim.tv_sec, about.st_mtim.tv_nsec, about.st_size};
    }
};

/// The jobs of a table, one after another.
class job_rows {
    line_blocks blocks_;
    builder builder_;
    std::optional<table_reader> table_;
    diagnostic failure_{};
    row row_{};

public:
    /// All arguments but the numbers have to outlive the object.
    job_rows(process::descriptor const& file, layout const& of, model_library const& library, std::size_t block)
        : blocks_(file, block), builder_(of, library) {}

    /// Reads the line of titles. Returns false after an error.
    [[nodiscard]] bool begin(layout const& of) {
        auto const lines = blocks_.next();
        if (!lines) return refuse(lines.failure());
        table_.emplace(*lines, of);
        return table_->begin() || refuse(table_->status().failure());
    }
    /// Reads the next job. Returns false at the end, and after an error.
    [[nodiscard]] bool next(builder::parsed_job& into) {
        do {
            if (!next_row()) return false;
            if (!builder_.parse(row_, into)) return refuse(builder_.failure());
        } while (into.is_left_out);
        return true;
    }

    /// The builder, with the models and tenants so far.
    [[nodiscard]] builder& made() noexcept { return builder_; }
    /// The line of the last job.
    [[nodiscard]] std::uint64_t line() const noexcept { return row_.line; }
    /// The error; empty text if there was none.
    [[nodiscard]] diagnostic const& failure() const noexcept { return failure_; }

private:
    [[nodiscard]] bool next_row() {
        if (!table_) return false;
        table_reader& table = *table_;
        while (!table.next(row_)) {
            if (!table.status()) return refuse(table.status().failure());
            auto const lines = blocks_.next();
            if (!lines) return refuse(lines.failure());
            if (lines->empty()) return false;
            table.continue_with(*lines);
        }
        return true;
    }
    bool refuse(diagnostic why) {
        failure_ = std::move(why);
        return false;
    }
    bool refuse(error const& why) { return refuse(diagnostic{.text = process::input_sentence(why)}); }
};

}  // namespace detail

/// A trace that is read during each run. Threads can share it.
struct streamed_table {
    std::shared_ptr<process::descriptor const> file;
    std::shared_ptr<model_library const> library;  ///< the models that rows can name
    std::optional<layout> columns{};
    workload kinds{};  ///< without jobs; `left_out` is that of the whole file
    workload_shape shape{};
    std::size_t jobs = 0;   ///< their number
    double first = 0;       ///< seconds on the clock of the trace at the time 0
    std::size_t block = 0;  ///< bytes that are read at a time
    detail::file_version version{};
};

namespace detail {

/// Adds a job to the shape of those before.
inline void add_to(workload_shape& shape, workload const& kinds, job_description const& job) noexcept {
    shape.most_devices = std::max(shape.most_devices, job.most);
    shape.has_restart_costs |= job.restart_cost > 0;
    shape.uses_processors |= kinds.runs_on_cpu(job);
    shape.makes_requests |= kinds.models[job.model]->makes_requests();
}

/// Reads all rows. Returns the error.
[[nodiscard]] inline result<void, diagnostic> scan(streamed_table& table, job_rows& rows) {
    double last = 0;
    for (builder::parsed_job one; rows.next(one); ++table.jobs) {
        if (table.jobs == 0) table.first = one.at.submitted;
        if (table.jobs > 0 && one.at.submitted < last)
            return diagnostic{.line = rows.line(),
                              .text =
                                  "this job was submitted before the job of an earlier line; sort the lines by "
                                  "submission, or name a file of at most 1 GiB"};
        last = one.at.submitted;
        add_to(table.shape, rows.made().so_far(), one.job);
    }
    if (!rows.failure().text.empty()) return rows.failure();
    return {};
}

}  // namespace detail

/// Reads the whole file once, with memory for one block, the models and the tenants. Errors: an invalid line; jobs in
/// another order than that of submission; a format whose jobs are not lines. `unit`: as in `read`. O(text).
[[nodiscard]] inline result<streamed_table, diagnostic> scan_table(char const* path,
                                                                   std::shared_ptr<model_library const> library,
                                                                   format as = format::detect, double unit = 0,
                                                                   std::size_t block = std::size_t{1} << 18) {
    static constexpr process::input_rules rules{.remedy = "name a file that is there and may be read"};
    auto file = process::open_input(path, rules);
    if (!file) return diagnostic{.file = path, .text = process::input_sentence(file.failure())};
    streamed_table table;
    table.file = std::make_shared<process::descriptor const>(std::move(*file));
    table.library = std::move(library);
    table.block = block;
    table.version = detail::file_version::of(*table.file);
    detail::line_blocks blocks(*table.file, std::max<std::size_t>(block, 1 << 16));
    auto const lines = blocks.next();
    if (!lines) return diagnostic{.file = path, .text = process::input_sentence(lines.failure())};
    if (as == format::detect) as = format_of(*lines);
    layout const* const fitting = as == format::alibaba ? nullptr : detail::fitting_layout(*lines, as);
    if (fitting != nullptr) table.columns = in_unit(*fitting, unit);
    if (!table.columns)
        return diagnostic{
            .file = path,
            .text =
                "a trace of this format cannot be read job by job; name a file of at most 1 GiB, or one in the format ration"};
    detail::job_rows rows(*table.file, *table.columns, *table.library, block);
    if (!rows.begin(*table.columns)) return in_file(path, rows.failure());
    if (auto const scanned = detail::scan(table, rows); !scanned) return in_file(path, scanned.failure());
    table.kinds = rows.made().finish(name_of_file(path));
    return table;
}

/// The jobs of a streamed table, for one run.
class table_source final : public job_source {
    streamed_table const& table_;
    detail::job_rows rows_;
    job_description present_{};
    std::size_t given_ = 0;
    bool has_changed_ = false;

public:
    /// `table` has to outlive the object.
    explicit table_source(streamed_table const& table)
        : table_(table), rows_(*table.file, *table.columns, *table.library, table.block) {
        has_changed_ = !rows_.begin(*table.columns);
    }

    /// The models and tenants of the whole file.
    [[nodiscard]] workload const& kinds() const noexcept override { return table_.kinds; }
    /// That of the whole file.
    [[nodiscard]] workload_shape shape() const noexcept override { return table_.shape; }
    /// The next line that is a job.
    [[nodiscard]] job_description const* next() noexcept override {
        builder::parsed_job read;
        bool const is_there = !has_changed_ && rows_.next(read);
        nanoseconds const last = present_.submitted;
        present_ = read.from(table_.first);
        bool const is_known = is_there && given_ < table_.jobs && present_.submitted >= last && fits(present_);
        if (is_known) {
            ++given_;
            return &present_;
        }
        has_changed_ = has_changed_ || is_there || given_ < table_.jobs ||
                       detail::file_version::of(*table_.file) != table_.version;
        return nullptr;
    }
    /// Whether the run had the jobs that were scanned. Error: `conflict` if the file has changed.
    [[nodiscard]] result<void> status() const noexcept {
        if (!has_changed_) return {};
        return error{.code = errc::conflict,
                     .operation = "read a trace again",
                     .subject = std::string_view(table_.kinds.name),
                     .remedy = "leave its file unchanged until all runs have ended"};
    }

private:
    /// True if the job is within what the file had when it was scanned.
    [[nodiscard]] bool fits(job_description const& job) const noexcept {
        workload_shape const& all = table_.shape;
        if (job.tenant >= table_.kinds.tenants.size() || job.model >= table_.kinds.models.size()) return false;
        return job.most <= all.most_devices && (all.has_restart_costs || !(job.restart_cost > 0)) &&
               (all.uses_processors || !table_.kinds.runs_on_cpu(job));
    }
};

}  // namespace ration::sim::trace
