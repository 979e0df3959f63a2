// SPDX-License-Identifier: BSL-1.0
/// What reading a file gives: a value, or one sentence about the first thing that is wrong in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <ration/assert.hpp>

namespace ration::sim::trace {

/// The first thing that is wrong in a text, and what to do about it. Lines count from 1; 0 = the text as a whole.
struct problem {
    std::uint64_t line = 0;
    std::string sentence;
};

/// "jobs.csv:12: sentence", without a newline.
[[nodiscard]] inline std::string to_text(problem const& p, std::string_view file) {
    std::string text(file);
    if (p.line > 0) text += ':' + std::to_string(p.line);
    return text += ": " + p.sentence;
}

/// At most 40 bytes of `text` in single quotes; what is not printable ASCII becomes '?', since it ends up on terminals.
[[nodiscard]] inline std::string quoted(std::string_view text) {
    constexpr std::size_t most = 40;
    std::string shown = "'";
    for (char const c : text.substr(0, most)) shown += c >= ' ' && c <= '~' ? c : '?';
    return shown += text.size() > most ? "...'" : "'";
}

/// Either a T or a problem.
template <class T>
class [[nodiscard]] outcome {
    std::variant<T, problem> held_;

public:
    outcome(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    outcome(problem why) : held_(std::in_place_index<1>, std::move(why)) {}

    [[nodiscard]] explicit operator bool() const noexcept { return held_.index() == 0; }

    /// Precondition: holds a T.
    [[nodiscard]] T& operator*() noexcept {
        RATION_ASSERT(held_.index() == 0, "outcome: asked for the value of a failure");
        return *std::get_if<0>(&held_);
    }
    [[nodiscard]] T const& operator*() const noexcept {
        RATION_ASSERT(held_.index() == 0, "outcome: asked for the value of a failure");
        return *std::get_if<0>(&held_);
    }
    [[nodiscard]] T* operator->() noexcept { return &**this; }
    [[nodiscard]] T const* operator->() const noexcept { return &**this; }

    /// Precondition: holds a problem.
    [[nodiscard]] problem const& failure() const noexcept {
        RATION_ASSERT(held_.index() == 1, "outcome: asked for the problem of a success");
        return *std::get_if<1>(&held_);
    }
};

}  // namespace ration::sim::trace
