// SPDX-License-Identifier: BSL-1.0
#include "decide/json_place.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "common/printable.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::uint32_t characters_before(std::string_view text, std::size_t at) {
    auto const front = text.substr(0, at);
    auto const starts = std::ranges::count_if(front, [](char c) { return (c & 0xC0) != 0x80; });
    return static_cast<std::uint32_t>(starts) + 1;
}

/// Moves over the values of valid JSON.
class json_scanner {
    std::string_view text_;
    std::size_t at_ = 0;

public:
    explicit json_scanner(std::string_view text) : text_(text) { skip_blanks(); }

    [[nodiscard]] std::size_t at() const noexcept { return at_; }

    /// Moves to the member or element that `token` names; false if the value has none, and then the place is its start.
    [[nodiscard]] bool enter(std::string_view token) {
        std::size_t const start = at_;
        bool const found = peek() == '{' ? enter_member(token) : peek() == '[' ? enter_element(token) : false;
        if (!found) at_ = start;
        return found;
    }

private:
    [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
    void step() noexcept { at_ = std::min(at_ + 1, text_.size()); }
    void skip_blanks() noexcept {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    }
    void skip_string() noexcept {
        for (step(); at_ < text_.size() && peek() != '"'; step())
            if (peek() == '\\') step();
        step();
    }
    void skip_value() noexcept {
        std::size_t open = 0;
        do {
            char const c = peek();
            if (c == '"') {
                skip_string();
                continue;
            }
            if (open == 0 && (c == ',' || c == ']' || c == '}')) return;
            if (c == '[' || c == '{') ++open;
            if (c == ']' || c == '}') --open;
            step();
        } while (at_ < text_.size() &&
                 (open > 0 || std::string_view(",]} \t\r\n").find(peek()) == std::string_view::npos));
    }
    /// True between two members or elements.
    [[nodiscard]] bool skip_comma() noexcept {
        skip_blanks();
        if (peek() != ',') return false;
        step();
        skip_blanks();
        return true;
    }
    /// The last one, as the parser takes it.
    [[nodiscard]] bool enter_member(std::string_view key) {
        std::size_t found = 0;
        step();
        skip_blanks();
        if (peek() == '}') return false;
        do {
            std::size_t const first = at_ + 1;
            skip_string();
            bool const is_it = text_.substr(first, at_ - first - 1) == key;
            skip_blanks();
            step();  // ':'
            skip_blanks();
            if (is_it) found = at_;
            skip_value();
        } while (skip_comma());
        at_ = found;
        return found > 0;
    }
    [[nodiscard]] bool enter_element(std::string_view token) {
        std::size_t index = 0;
        std::from_chars(token.data(), token.data() + token.size(), index);
        step();
        skip_blanks();
        if (peek() == ']') return false;
        for (; index > 0; --index) {
            skip_value();
            if (!skip_comma()) return false;
        }
        return true;
    }
};

/// Accepts any JSON, and keeps the place of the first error.
class error_finder final : public nlohmann::json_sax<nlohmann::json> {
public:
    std::size_t at = 0;
    std::string token;
    bool is_number = false;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, string_t const&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t position, std::string const& last_token,
                     nlohmann::detail::exception const& why) override {
        at = position;
        token = last_token;
        is_number = why.id == 406;  // out_of_range: a number has to be a finite double
        return false;
    }
};

}  // namespace

std::uint32_t column_of(std::string_view json, std::string_view pointer) {
    json_scanner scanner(json);
    while (!pointer.empty()) {
        pointer.remove_prefix(1);  // '/'
        auto const token = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(token.size());
        if (!scanner.enter(token)) break;
    }
    return characters_before(json, scanner.at());
}

json_error find_json_error(std::string_view text) {
    constexpr std::size_t longest = 40;
    error_finder finder;
    static_cast<void>(nlohmann::json::sax_parse(text, &finder));
    std::size_t const at = std::min(finder.at > 0 ? finder.at - 1 : 0, text.size());
    std::string_view token = finder.token;
    if (token.size() > longest) token.remove_prefix(token.size() - longest);
    return {characters_before(text, at), printable(token), finder.is_number};
}

}  // namespace ration::program
