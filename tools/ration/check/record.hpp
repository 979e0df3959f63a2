// SPDX-License-Identifier: BSL-1.0
/// The results that the process of a probe leaves for its supervisor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "finding.hpp"

namespace ration::conformance {

/// The record is in memory that both processes share, so that a plugin can neither close nor flood it. The supervisor
/// reads it when the other process is dead, and trusts no byte of it.
class probe_record {
    char token_[17];
    std::uint8_t verdict_;
    char sentence_[3000];
    char note_[512];
    std::size_t note_size_;

public:
    /// Zeroed and shared with later children. Throws std::system_error.
    [[nodiscard]] static probe_record& make();
    void remove() noexcept;

    /// Async-signal-safe. A longer text is cut off.
    void add_note(std::string_view text) noexcept;
    void finish(finding const& found, std::string_view token) noexcept;

    [[nodiscard]] std::string note() const;
    /// Nothing unless the probe came to its end: only its end has `token`.
    [[nodiscard]] std::optional<finding> result(std::string_view token) const;

private:
    void append(std::string_view text) noexcept;
};

}  // namespace ration::conformance
