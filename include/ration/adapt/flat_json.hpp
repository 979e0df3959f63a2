// SPDX-License-Identifier: BSL-1.0
/// A reader for the config text of a plugin: one flat JSON object of numbers, words and truth values. Small on purpose:
/// it is compiled into every plugin. Nesting, null and escapes are refused with a sentence. No allocation; O(text).
#pragma once

#include <cstddef>
#include <string_view>

#include <ration/text.hpp>

namespace ration {

enum class json_kind : unsigned char { number, word, truth };

/// One member of the object: its name, and its value as text.
struct json_member {
    std::string_view name, value;  ///< a word without its quotes
    json_kind kind = json_kind::number;
};

/// Reads the members of one flat JSON object, in order and without an allocation.
class flat_json {
    std::string_view rest_;
    char const* wrong_ = nullptr;
    bool first_ = true;

public:
    explicit flat_json(std::string_view text) noexcept : rest_(text) {
        skip_space();
        if (!take('{')) wrong_ = "the parameters must be one JSON object: {\"name\": value, ...}";
    }

    /// The next member; false at the end and after an error.
    [[nodiscard]] bool next(json_member& member) noexcept {
        if (wrong_ != nullptr) return false;
        skip_space();
        if (take('}')) return end();
        if (!first_ && !take(',')) return fail("a comma is missing between two parameters");
        first_ = false;
        skip_space();
        if (!quoted(member.name)) return fail("the name of a parameter must stand in double quotes, without escapes");
        skip_space();
        if (!take(':')) return fail("a colon is missing after the name of a parameter");
        skip_space();
        return value(member) || fail("a parameter must be a number, a word in double quotes, true or false");
    }

    /// What is wrong with the text, or nullptr.
    [[nodiscard]] char const* wrong() const noexcept { return wrong_; }

private:
    bool fail(char const* sentence) noexcept {
        wrong_ = sentence;
        return false;
    }
    bool end() noexcept {
        skip_space();
        return rest_.empty() ? false : fail("there is text after the closing brace of the parameters");
    }
    void skip_space() noexcept {
        while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != rest_.npos) rest_.remove_prefix(1);
    }
    bool take(char c) noexcept {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool quoted(std::string_view& text) noexcept {
        if (!take('"')) return false;
        std::size_t const end = rest_.find_first_of("\"\\");
        if (end == rest_.npos || rest_[end] == '\\') return false;
        text = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return true;
    }
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
