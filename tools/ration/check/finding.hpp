// SPDX-License-Identifier: BSL-1.0
/// The result of a probe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ration::conformance {

enum class verdict : std::uint8_t { passed, failed, crashed, timed_out, skipped };

[[nodiscard]] constexpr std::string_view name_of(verdict v) noexcept {
    constexpr std::string_view names[] = {"passed", "failed", "crashed", "timed out", "skipped"};
    return names[static_cast<std::size_t>(v)];
}

[[nodiscard]] constexpr bool is_red(verdict v) noexcept { return v != verdict::passed && v != verdict::skipped; }

struct finding {
    verdict is = verdict::passed;
    std::string why{};     ///< a sentence; empty when passed
    std::string output{};  ///< the end of what the plugin printed
};

/// Thrown inside a probe: the plugin broke a rule.
struct broken_rule {
    std::string sentence;
};
/// Thrown inside a probe: it does not apply to this plugin.
struct not_applicable {
    std::string reason;
};

[[noreturn]] inline void broken(std::string sentence) { throw broken_rule{std::move(sentence)}; }
[[noreturn]] inline void skip(std::string reason) { throw not_applicable{std::move(reason)}; }

}  // namespace ration::conformance
