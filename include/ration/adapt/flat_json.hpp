// SPDX-License-Identifier: BSL-1.0
/// A reader for the configuration text of a plugin: one flat JSON object of numbers, words and
/// truth values.
///
/// It is small, since it is compiled into every plugin. Nesting, null and escapes are refused with
/// a message. No allocation; O(text).
///
/// Example:
/// ~~~{.cpp}
/// ration::flat_json members(R"({"alpha": 0.5})");
/// for (ration::json_member m; members.next(m);) use(m.name, m.value);
/// if (members.wrong() != nullptr) return members.wrong();
/// ~~~
#pragma once

#include <cstddef>
#include <string_view>

#include <ration/text.hpp>

namespace ration {

/// The kind of a value.
enum class json_kind : unsigned char { number, word, truth };

/// One member of the object: its name, and its value as text. Both are parts of the text that is
/// read.
struct json_member {
    std::string_view name, value;  ///< a word has no quotes
    /// For `truth` the value is "true" or "false"; a `number` is not validated beyond its first
    /// character.
    json_kind kind = json_kind::number;
};

/// Reads the members of one flat JSON object in order.
class flat_json {
    std::string_view rest_;
    char const* wrong_ = nullptr;
    bool first_ = true;

public:
    /// `text` has to outlive the reader and its members.
    explicit flat_json(std::string_view text) noexcept : rest_(text) {
        skip_space();
        if (!take('{')) wrong_ = "the parameters must be one JSON object: {\"name\": value, ...}";
    }

    /// Reads the next member. Returns false at the end, and after an error.
    [[nodiscard]] bool next(json_member& member) noexcept {
        if (wrong_ != nullptr) return false;
        skip_space();
        if (take('}')) return end();
        if (!first_ && !take(',')) return fail("a comma is missing between two parameters");
        first_ = false;
        skip_space();
        if (!quoted(member.name)) return fail("the name of a parameter must be in double quotes, without escapes");
        skip_space();
        if (!take(':')) return fail("a colon is missing after the name of a parameter");
        skip_space();
        return value(member) || fail("a parameter must be a number, a word in double quotes, true or false");
    }

    /// The error as a sentence, or nullptr.
    [[nodiscard]] char const* wrong() const noexcept { return wrong_; }

private:
    /// Records an error.
    bool fail(char const* sentence) noexcept {
        wrong_ = sentence;
        return false;
    }
    /// The closing brace was read: only white space may follow.
    bool end() noexcept {
        skip_space();
        return rest_.empty() ? false : fail("there is text after the closing brace of the parameters");
    }
    /// Skips white space.
    void skip_space() noexcept {
        while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != rest_.npos) rest_.remove_prefix(1);
    }
    /// Reads one character, if it is `c`.
    bool take(char c) noexcept {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    /// Reads text in double quotes.
    bool quoted(std::string_view& text) noexcept {
        if (!take('"')) return false;
        std::size_t const end = rest_.find_first_of("\"\\");
        if (end == rest_.npos || rest_[end] == '\\') return false;
        text = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return true;
    }
    /// Reads a value.
    bool value(json_member& member) noexcept {
        if (!rest_.empty() && rest_.front() == '"') {
            member.kind = json_kind::word;
            return quoted(member.value);
        }
        member.value = rest_.substr(0, rest_.find_first_of(" \t\r\n,}"));
        rest_.remove_prefix(member.value.size());
        member.kind = member.value == "true" || member.value == "false" ? json_kind::truth : json_kind::number;
        if (member.kind == json_kind::truth) return true;
        return !member.value.empty() &&
               std::string_view("-0123456789").find(member.value.front()) != std::string_view::npos;
    }
};

}  // namespace ration
