// SPDX-License-Identifier: BSL-1.0
/// The diagnostics of a text from outside, collected.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// A place in a text file, counted from 1; line 0 means the file as a whole.
struct position {
    std::uint32_t line = 0, column = 0;
    friend auto operator<=>(position, position) noexcept = default;
};

/// The diagnostics of one file, or of the command line, collected by readers that report every fault.
class diagnostics {
    std::string file_;
    std::vector<diagnostic> all_;

public:
    /// `file`: named by those added with a position; empty for the command line.
    explicit diagnostics(std::string file = {}) : file_(std::move(file)) {}

    void add(diagnostic one) { all_.push_back(std::move(one)); }
    void add(position at, std::string text) { add({file_, at.line, at.column, std::move(text)}); }

    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
    [[nodiscard]] diagnostic const& front() const noexcept { return all_.front(); }
    [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
    [[nodiscard]] auto end() const noexcept { return all_.end(); }

    /// Into the order of the file; those of one position stay in their order. O(n log n).
    void sort();
};

/// `to_text` of each, `printable` and behind `prefix`, as a line on standard error.
void print_to_stderr(diagnostics const& all, std::string_view prefix = {});

}  // namespace ration::program
