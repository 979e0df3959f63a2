// SPDX-License-Identifier: BSL-1.0
/// The secret of one incarnation of a job, which the launcher creates. Environment variable
/// RATION_TOKEN.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <sys/random.h>

#include <ration/result.hpp>

namespace ration::progress {

/// 16 hexadecimal digits from the kernel's generator (getrandom(2)). Error: `io`.
[[nodiscard]] inline result<text<16>> random_token() noexcept {
    std::array<std::uint8_t, 8> bits{};
    if (::getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size()))
        return error{errc::io, "draw a random token", {}, errno, "the kernel's random generator must be usable"};
    constexpr std::string_view digits = "0123456789abcdef";
    text<16> out;
    for (auto const byte : bits) out.append(digits.substr(byte >> 4, 1)).append(digits.substr(byte & 15, 1));
    return out;
}

}  // namespace ration::progress
