// SPDX-License-Identifier: BSL-1.0
/// The metrics of a job from a file that its framework writes: CSV, one JSON object for each line, or TensorBoard
/// events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/progress/log_adapter.hpp>

#include "config/config.hpp"
#include "run/path_search.hpp"
#include "run/row_values.hpp"
#include "run/tensorboard_events.hpp"

namespace ration::program {

/// Follows the newest file that matches a path, or of TensorBoard events the newest one in matching folders. A file
/// that is written again is read from its start; rows that were read before are skipped. For any content of the file,
/// polling reads at most 64 KiB and the folders that `path_search` allows, and reports one problem at most.
class metric_file {
public:
    using handler = row_values::handler;

    enum class existing_rows : std::uint8_t { skip, read };

    /// `existing`: what happens to rows that are in matching files now. `directory`: of relative paths; empty: the
    /// present one.
    metric_file(metric_file_config const& config, std::string const& directory, job_id job, incarnation_id run,
                existing_rows existing);

    /// Passes the updates of new rows to `handle`. False: there were none.
    bool poll(nanoseconds now, handler const& handle);
    /// The same after the job has ended: files are searched once more. False: all rows were read.
    bool poll_last(handler const& handle);
    /// Then passes a last row without an end of line, if it is whole.
    void finish(bool is_whole, handler const& handle);
    /// Bytes up to the present end of the file. 0: there is none.
    [[nodiscard]] std::uint64_t unread_bytes() const noexcept;

    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_read_; }
    [[nodiscard]] row_values const& values() const noexcept { return values_; }
    /// A sentence on the first thing that could not be read; empty before.
    [[nodiscard]] std::string const& problem() const noexcept { return problem_; }
    /// The file, or the pattern before one was found.
    [[nodiscard]] std::string const& path() const noexcept { return path_.empty() ? pattern_ : path_; }
    /// The columns of a CSV file, or the tags of events up to now; for messages.
    [[nodiscard]] std::vector<std::string> const& header() const noexcept { return header_; }

private:
    /// The properties that distinguish states of a file.
    struct version {
        dev_t device = 0;
        ino_t inode = 0;
        off_t size = 0;
        std::int64_t modified_ns = 0;
        [[nodiscard]] static version of(struct stat const& about) noexcept;
        friend bool operator==(version const&, version const&) = default;
    };
    struct candidate {
        std::string path;
        version about;
    };

    [[nodiscard]] std::vector<candidate> matches();
    void add_match(std::string const& path, path_search& within, std::vector<candidate>& into) const;
    void search();
    off_t read_next(handler const& handle);
    void open(candidate const& found);
    void restart(std::uint64_t skipped_rows, off_t skipped_bytes);
    [[nodiscard]] bool was_written_anew();
    void feed(std::string_view bytes, handler const& handle);
    void take_line(handler const& handle);
    void take_record(event_records::outcome found, handler const& handle);
    [[nodiscard]] bool is_new_row() noexcept;
    void take_csv(std::string_view line, handler const& handle);
    void take_json(std::string_view line, handler const& handle);
    void take_event(scalar_event const& event, handler const& handle);
    void take_row(std::function<std::string(std::string const&)> const& cell, handler const& handle);
    void report(std::string_view cause);

    metric_file_config const& config_;
    std::string pattern_;
    std::map<std::string, version> existing_;  // at the start, and not to be read
    nanoseconds searched_at_{};
    bool too_wide_ = false;  // the pattern leads to too many files, and is not expanded again
    bool searched_last_ = false;

    std::string path_;
    process::descriptor file_;
    version opened_;
    off_t offset_ = 0, skipped_bytes_ = 0;
    std::string head_;  // the first bytes, as they were read
    std::string buffer_;
    progress::line_reader lines_;
    event_records records_;
    std::vector<std::string> header_;
    std::uint64_t rows_ = 0, skipped_rows_ = 0;  // since the start of the file
    std::uint64_t rows_read_ = 0;
    row_values values_;
    std::string problem_;
};

}  // namespace ration::program
