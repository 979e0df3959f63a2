// SPDX-License-Identifier: BSL-1.0
/// Reads a JSON text from front to back without building it in memory: logs of clusters have hundreds of megabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ration::sim::trace {

/// The caller names the expected element and skips others. After the first error every function returns false.
/// Escapes in strings are not decoded, which keys and times of traces do not need.
class json_scanner {
    static constexpr int deepest = 64;

    char const* at_;
    char const* end_;
    std::uint64_t line_ = 1;
    char const* wrong_ = nullptr;

public:
    /// `text` has to outlive the scanner and the strings that it returns.
    explicit json_scanner(std::string_view text) noexcept : at_(text.data()), end_(at_ + text.size()) {
        if (text.starts_with("\xef\xbb\xbf")) at_ += 3;
    }

    /// The first error, or nullptr.
    [[nodiscard]] char const* wrong() const noexcept { return wrong_; }
    /// The present line, from 1.
    [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

    /// Records an error; a later one is ignored.
    bool fail(char const* sentence) noexcept {
        if (wrong_ == nullptr) wrong_ = sentence;
        return false;
    }

    /// True if the next element starts with this character.
    [[nodiscard]] bool sees(char c) noexcept { return wrong_ == nullptr && (skip_space(), at_ != end_ && *at_ == c); }

    /// Reads an opening bracket, or fails with a message.
    bool open(char bracket, char const* otherwise) noexcept { return take(bracket) || fail(otherwise); }

    /// True if another element or member follows; reads the comma, or the closing bracket. `first` is true before the
    /// first one, and set to false.
    [[nodiscard]] bool more(char closing, bool& first) noexcept {
        if (wrong_ != nullptr || take(closing)) return false;
        if (!first && !take(',')) return fail("a comma or a closing bracket is missing here; is the file cut off?");
        if (!first && sees(closing)) return fail("there is a comma before a closing bracket; remove it");
        first = false;
        return true;
    }

    /// Reads the name of a member and the colon.
    bool key(std::string_view& name) noexcept {
        return string(name) && (take(':') || fail("a colon is missing after the name of a member"));
    }

    /// Reads a string.
    bool string(std::string_view& text) noexcept {
        if (!take('"')) return fail("a string in double quotes is expected here");
        char const* const begin = at_;
        while (at_ != end_ && *at_ != '"' && *at_ != '\n') at_ += *at_ == '\\' && at_ + 1 != end_ ? 2 : 1;
        if (at_ == end_ || *at_ != '"') return fail("a string is never closed; close it in the same line");
        text = {begin, static_cast<std::size_t>(at_++ - begin)};
        return true;
    }

    /// Reads a string, or a null, a number or a truth value as its text.
    bool scalar(std::string_view& text) noexcept {
        if (sees('"')) return string(text);
        char const* const begin = at_;
        while (at_ != end_ && (is_letter(*at_) || *at_ == '-' || *at_ == '+' || *at_ == '.')) ++at_;
        text = {begin, static_cast<std::size_t>(at_ - begin)};
        return !text.empty() || fail("a string, a number or null is expected here");
    }

    /// Skips any value. O(its text).
    bool skip() noexcept {
        int depth = 0;
        do {
            std::string_view ignored;
            if (take('[') || take('{')) {
                if (++depth > deepest) return fail("values are nested more than 64 deep; is this the job log?");
            } else if (take(']') || take('}')) {
                if (--depth < 0) return fail("a bracket is closed that was never opened");
            } else if (!(take(',') || take(':') || scalar(ignored))) {
                return false;
            }
        } while (depth > 0);
        return true;
    }

private:
    [[nodiscard]] static bool is_letter(char c) noexcept {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    }
    void skip_space() noexcept {
        for (; at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n'); ++at_)
            line_ += *at_ == '\n';
    }
    bool take(char c) noexcept {
        bool const taken = sees(c);
        at_ += taken;
        return taken;
    }
};

}  // namespace ration::sim::trace
