// SPDX-License-Identifier: BSL-1.0
/// Reads the Standard Workload Format, version 2.2, of the Parallel Workloads Archive.
///
/// A line has 18 numbers, separated by blanks; -1 is unknown. A line that begins with ';' is a comment.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ration/sim/trace/builder.hpp>

namespace ration::sim::trace {

namespace detail {

inline constexpr column swf_columns[] = {{"field 1", field::name},
                                         {"field 2", field::submitted},
                                         {"field 4", field::duration},
                                         {"field 8", field::devices},
                                         {"field 12", field::tenant}};
inline constexpr layout swf_layout{.is = format::swf, .columns = swf_columns, .real = true};

/// The fields of a line, in the order of the format.
using swf_fields = std::array<std::string_view, 18>;

/// The fields of a line; empty unless it has 18 numbers. O(line).
[[nodiscard]] inline std::optional<swf_fields> swf_fields_of(std::string_view line) noexcept {
    constexpr std::string_view blanks = " \t\r";
    swf_fields all;
    std::size_t count = 0;
    for (std::size_t from = line.find_first_not_of(blanks); from != line.npos;
         from = line.find_first_not_of(blanks, from)) {
        std::size_t const to = std::min(line.find_first_of(blanks, from), line.size());
        double ignored = 0;
        if (count == all.size() || !to_number(line.substr(from, to - from), ignored)) return std::nullopt;
        all[count++] = line.substr(from, to - from);
        from = to;
    }
    if (count != all.size()) return std::nullopt;
    return all;
}

/// Lines of a text, without their comments.
class swf_lines {
    std::string_view left_;
    std::string_view line_;
    std::uint64_t number_ = 0;

public:
    explicit swf_lines(std::string_view text) noexcept : left_(text) {
        if (left_.starts_with("\xef\xbb\xbf")) left_.remove_prefix(3);
    }
    /// Reads the next line with content. Returns false at the end.
    [[nodiscard]] bool next() noexcept {
        while (!left_.empty()) {
            std::size_t const end = std::min(left_.find('\n'), left_.size());
            line_ = left_.substr(0, end);
            left_.remove_prefix(std::min(end + 1, left_.size()));
            ++number_;
            std::size_t const begin = line_.find_first_not_of(" \t\r");
            if (begin != line_.npos && line_[begin] != ';') return true;
        }
        return false;
    }
    [[nodiscard]] std::string_view line() const noexcept { return line_; }
    /// Its number, from 1.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
};

}  // namespace detail

/// True if the text begins with a comment, or its first line has the 18 numbers of a job. O(first line).
[[nodiscard]] inline bool is_swf(std::string_view text) noexcept {
    std::size_t const begin = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
    if (begin == text.npos) return false;
    return text[begin] == ';' || detail::swf_fields_of(text.substr(begin, text.find('\n', begin) - begin)).has_value();
}

/// Reads all jobs. A job has the processors that it requested, or else those that it was given, as devices; its user is
/// the tenant. A run time of 0 means below half a second, and counts as that. Jobs without processors or without a run
/// time are skipped, as are lines with other than 18 numbers and parts of jobs, which have a line for the whole job.
/// `unit`: seconds of a unit of time; 0 = that of the format. O(text).
[[nodiscard]] inline result<workload, diagnostic> read_swf(std::string_view text, model_library const& library,
                                                           std::string name, double unit = 0) {
    builder jobs(in_unit(detail::swf_layout, unit), library);
    detail::swf_lines lines(text);
    std::size_t not_jobs = 0;
    while (lines.next()) {
        auto const of = detail::swf_fields_of(lines.line());
        auto const field_of = [&](std::size_t number) { return (*of)[number - 1]; };
        bool const is_part = of && (field_of(11) == "2" || field_of(11) == "3" || field_of(11) == "4");
        if (!of || is_part) {
            ++not_jobs;
            continue;
        }
        auto const is_known = [&](std::size_t number) { return !field_of(number).starts_with('-'); };
        row r;
        r.line = lines.number();
        r[field::name] = field_of(1);
        r[field::submitted] = field_of(2);
        r[field::devices] = is_known(8) && field_of(8) != "0" ? field_of(8) : field_of(5);
        r[field::duration] = field_of(4) == "0" ? "0.5" : field_of(4);
        if (is_known(12)) r[field::tenant] = field_of(12);
        if (!jobs.add(r)) return jobs.failure();
    }
    workload made = jobs.finish(std::move(name));
    made.not_jobs = not_jobs;
    return made;
}

}  // namespace ration::sim::trace
