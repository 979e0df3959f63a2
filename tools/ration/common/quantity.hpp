// SPDX-License-Identifier: BSL-1.0
/// Durations and sizes as people write them: a number and a unit, nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ration/units.hpp>

namespace ration::program {

/// "250ms", "20s", "1.5m", "2h". None for anything else: a sign, a blank, no unit, more than 365 days.
[[nodiscard]] std::optional<nanoseconds> parse_duration(std::string_view text) noexcept;

/// "512B", "64MiB", "1.5GiB", "2GB"; a part of a byte is dropped. None for anything else: a unit that could mean two
/// things
/// ("2G"), more than `max_amount`.
[[nodiscard]] std::optional<bytes> parse_size(std::string_view text) noexcept;

/// A whole number from 1 to `most`, with nothing behind it.
[[nodiscard]] std::optional<std::int64_t> parse_count(std::string_view text, std::int64_t most) noexcept;

/// With at most one decimal, in the largest unit that is not above it: "512 B", "64 MiB", "1.5 GiB".
[[nodiscard]] std::string size_text(bytes size);

/// To the nearest tenth: "0.0 s" to "59.9 s", then "1:00" to "59:59", then
/// "1:00:00".
[[nodiscard]] std::string duration_text(nanoseconds t);

}  // namespace ration::program
