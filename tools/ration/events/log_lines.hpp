// SPDX-License-Identifier: BSL-1.0
/// The lines of an event log, which may be larger than the memory.
#pragma once

#include <string>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>
#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// Reads line by line; a line has at most 64 MiB.
class log_lines {
    process::descriptor file_;
    char const* remedy_;
    std::vector<char> buffer_;
    std::size_t filled_ = 0, at_ = 0;
    bool whole_ = true;
    result<void, diagnostic> status_;

public:
    /// Errors: those of `process::open_input`; `remedy` is static text.
    [[nodiscard]] static result<log_lines> open(std::string const& path, char const* remedy);

    /// False at the end and at a fault, which `status` reports. A last line without a newline is a line.
    [[nodiscard]] bool next(std::string& line);
    /// Whether the line that `next` returned last ended in a newline.
    [[nodiscard]] bool whole() const noexcept { return whole_; }
    /// Success at the end of the file; else the reason for which the line after the last one cannot be read.
    [[nodiscard]] result<void, diagnostic> const& status() const noexcept { return status_; }

private:
    log_lines(process::descriptor file, char const* remedy);
    [[nodiscard]] bool fill();
};

}  // namespace ration::program
