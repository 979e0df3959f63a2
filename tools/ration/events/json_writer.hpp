// SPDX-License-Identifier: BSL-1.0
/// JSON text, written front to back. Events are written many times a second, so that no tree is built first.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ration/units.hpp>

namespace ration::program {

/// The form of characters that `steers_text`. Escaped they reach no terminal, but a page shows what the escapes mean.
enum class steering_text : std::uint8_t { escaped, replaced };

/// Appends one JSON value to a string. Commas are its business; the nesting is the caller's.
class json_writer {
    std::string& out_;
    bool first_ = true;
    steering_text steering_;

public:
    explicit json_writer(std::string& out, steering_text steering = steering_text::escaped) noexcept
        : out_(out), steering_(steering) {}

    /// `body` writes the members or elements.
    template <class Body>
    void object(Body body) {
        nested('{', '}', body);
    }
    template <class Body>
    void array(Body body) {
        nested('[', ']', body);
    }

    /// The key of the value that is written next.
    json_writer& key(std::string_view name) {
        comma();
        text(name);
        out_ += ':';
        first_ = true;
        return *this;
    }

    void value(std::string_view s) {
        comma();
        text(s);
    }
    void value(char const* s) { value(std::string_view(s)); }
    void value(std::string const& s) { value(std::string_view(s)); }
    void value(bool b) {
        comma();
        out_ += b ? "true" : "false";
    }
    void value(std::integral auto i) {
        comma();
        number(i);
    }
    /// The shortest decimal that reads back as the same double; "nan", "inf", "-inf" as strings.
    void value(double d);
    void value(nanoseconds t) { value(t.count); }
    void value(bytes b) { value(b.count); }
    void null() {
        comma();
        out_ += "null";
    }
    template <class T>
    void value(std::optional<T> const& maybe) {
        if (maybe)
            value(*maybe);
        else
            null();
    }

    /// One member.
    template <class T>
    void member(std::string_view name, T const& content) {
        key(name).value(content);
    }

private:
    void comma() {
        if (!first_) out_ += ',';
        first_ = false;
    }

    void number(std::integral auto i) {
        char digits[24];
        out_.append(digits, std::to_chars(digits, digits + sizeof digits, i).ptr);
    }

    template <class Body>
    void nested(char open, char close, Body& body) {
        comma();
        out_ += open;
        first_ = true;
        body();
        out_ += close;
        first_ = false;
    }

    void text(std::string_view s);
    void steering_character(std::string_view character);
};

}  // namespace ration::program
