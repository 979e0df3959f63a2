// SPDX-License-Identifier: BSL-1.0
/// Reads a trace of any known format.
///
/// The entry for programs: `read_file` recognises the format by the first line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <ration/process/input_file.hpp>
#include <ration/sim/diagnostic.hpp>
#include <ration/sim/trace/alibaba.hpp>
#include <ration/sim/trace/philly_json.hpp>
#include <ration/sim/trace/swf.hpp>
#include <ration/sim/trace/table.hpp>

namespace ration::sim::trace {

/// Finds a format by its name, one of `format_names`. Returns false if it is unknown.
[[nodiscard]] inline bool to_format(std::string_view name, format& into) noexcept {
    auto const found = std::find(format_names.begin(), format_names.end(), name);
    if (found == format_names.end()) return false;
    into = static_cast<format>(found - format_names.begin());
    return true;
}

namespace detail {

/// The first layout that fits the first line of a text, of this format unless that is `detect`; nullptr if none fits.
/// O(first line).
[[nodiscard]] inline layout const* fitting_layout(std::string_view text, format as) {
    std::size_t const begin = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
    std::string_view const first_line = text.substr(0, begin == text.npos ? 0 : text.find('\n', begin));
    for (auto const& one : layouts) {
        table_reader table(first_line, one);
        if ((as == format::detect || as == one.is) && table.begin()) return &one;
    }
    return nullptr;
}

}  // namespace detail

/// The format of a text by its first line; `detect` if none fits. O(first line).
[[nodiscard]] inline format format_of(std::string_view text) {
    std::size_t const begin = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
    if (begin != text.npos && text[begin] == '[') return format::philly_json;
    if (is_swf(text)) return format::swf;
    layout const* const fitting = detail::fitting_layout(text, format::detect);
    return fitting != nullptr ? fitting->is : format::detect;
}

/// Reads the jobs of a text. Models that it names are looked up in `library`. `unit`: seconds of a unit of its times; 0
/// = that of the format. The error names the line. O(text).
[[nodiscard]] inline result<workload, diagnostic> read(std::string_view text, model_library const& library,
                                                       std::string name, format as = format::detect, double unit = 0) {
    if (as == format::detect) as = format_of(text);
    if (as == format::philly_json) return read_philly_json(text, library, std::move(name));
    if (as == format::swf) return read_swf(text, library, std::move(name), unit);
    if (as == format::alibaba) return read_alibaba(text, library, std::move(name), unit);
    layout const* const fitting = detail::fitting_layout(text, as);
    if (as != format::detect)
        return read_table(text, in_unit(fitting != nullptr ? *fitting : *find_layout(as), unit), library,
                          std::move(name));
    if (text.find_first_not_of(" \t\r\n") == text.npos)
        return diagnostic{.text = "this file is empty; a trace of jobs is expected"};
    return diagnostic{
        .line = 1,
        .text = "the columns are not those of a known trace; name them job_id,submit_time,num_gpus,duration"};
}

/// The most bytes of a file that is read as a whole.
inline constexpr std::uint64_t most_bytes_held = std::uint64_t{1} << 30;

/// Reads a regular file of at most 1 GiB. Never blocks.
[[nodiscard]] inline result<std::string, diagnostic> contents(char const* path) {
    static constexpr process::input_rules rules{.remedy = "name a file that is there and may be read",
                                                .most_bytes = most_bytes_held,
                                                .too_large = "is larger than 1 GiB"};
    auto text = process::read_input(path, rules);
    if (!text) return diagnostic{.file = path, .text = process::input_sentence(text.failure())};
    return std::move(text).value();
}

/// The name of the workload in a file: that of the file, without folder and extension.
[[nodiscard]] inline std::string name_of_file(char const* path) {
    std::string_view name(path);
    name.remove_prefix(name.rfind('/') + 1);
    return std::string(name.substr(0, std::max<std::size_t>(name.rfind('.'), 1)));
}

/// Reads a trace file, as `read`. The workload has the `name_of_file`.
[[nodiscard]] inline result<workload, diagnostic> read_file(char const* path, model_library const& library,
                                                            format as = format::detect, double unit = 0) {
    auto text = contents(path);
    if (!text) return text.failure();
    auto made = read(*text, library, name_of_file(path), as, unit);
    if (!made) return in_file(path, made.failure());
    return made;
}

}  // namespace ration::sim::trace
