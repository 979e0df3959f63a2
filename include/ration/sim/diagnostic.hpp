// SPDX-License-Identifier: BSL-1.0
/// An error in a text from outside, and its place: a jobs file, a trace, an event log, a word of the command line. The
/// readers of the simulator and of the program report it, alone or as the failure of a `result`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <ration/result.hpp>

namespace ration {

/// One fault of a text, as a sentence that names the fault and the fix. Lines and columns count from 1.
struct diagnostic {
    std::string file{};        ///< as the user named it; empty: not known yet, or the command line
    std::uint64_t line = 0;    ///< 0: the file as a whole
    std::uint32_t column = 0;  ///< 0: the line as a whole
    std::string text{};
};

/// "jobs.toml:12:9: text", without a newline; only the text where no file is named.
[[nodiscard]] inline std::string to_text(diagnostic const& d) {
    if (d.file.empty()) return d.text;
    std::string text = d.file;
    if (d.line > 0) text += ':' + std::to_string(d.line);
    if (d.line > 0 && d.column > 0) text += ':' + std::to_string(d.column);
    return text += ": " + d.text;
}

/// The diagnostic of a reader that lacks the name of its file.
[[nodiscard]] inline diagnostic in_file(std::string file, diagnostic d) {
    d.file = std::move(file);
    return d;
}

/// The diagnostic of a reader that is given single lines.
[[nodiscard]] inline diagnostic at_line(std::string file, std::uint64_t line, diagnostic d) {
    d.line = line;
    return in_file(std::move(file), std::move(d));
}

}  // namespace ration
