// SPDX-License-Identifier: BSL-1.0
/// Parses one datagram of protocol P1 (docs/progress-protocol.md). Everything that is not a valid
/// message is refused.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <system_error>

#include <ration/progress/update.hpp>
#include <ration/result.hpp>

namespace ration::progress {

inline constexpr std::size_t max_datagram = 1024;  ///< bytes
/// Characters of a job's name, a token, a metric, a reason, a device's name
inline constexpr std::size_t max_word = 64;
inline constexpr std::size_t max_devices = 768;      ///< characters of a list of devices
inline constexpr std::size_t max_socket_path = 107;  ///< bytes (unix(7))
inline constexpr std::uint32_t max_wanted = 4096;    ///< devices

/// A message: its sender (claimed; the receiver validates it) and its content. The texts point into
/// the datagram.
struct message {
    /// The name of the job.
    std::string_view job{};
    /// The secret of the incarnation.
    std::string_view token{};
    /// The incarnation that the sender claims.
    incarnation_id run{};
    /// The rank of the process in its job.
    std::uint32_t rank = 0;
    std::uint64_t sequence = 0;  ///< of the sender, from 1
    /// The content.
    report body{};
};

/// True for printable ASCII without space and '=', the characters of a value.
[[nodiscard]] constexpr bool is_word(std::string_view text) noexcept {
    for (char const c : text)
        if (c <= ' ' || c > '~' || c == '=') return false;
    return !text.empty();
}

namespace detail {

inline constexpr std::uint64_t max_count = std::uint64_t{1} << 32;  ///< of losses in one message

/// Parses a number; the whole text has to be one.
template <class T>
[[nodiscard]] bool read_number(std::string_view text, T& out) noexcept {
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    return code == std::errc{} && end == text.data() + text.size();
}

/// Parses a number of losses.
[[nodiscard]] inline bool read_count(std::string_view text, std::uint64_t& out) noexcept {
    return read_number(text, out) && out <= max_count;
}

/// Parses a finite number. "nan" and "inf" are refused by their letters, since -ffast-math disables
/// isfinite.
[[nodiscard]] inline bool read_real(std::string_view text, double& out) noexcept {
    std::size_t const first = text.starts_with('-') ? 1 : 0;
    return first < text.size() && text[first] <= '9' && read_number(text, out);
}

/// Parses a word of limited length.
[[nodiscard]] inline bool read_word(std::string_view text, std::string_view& out) noexcept {
    out = text;
    return text.size() <= max_word;
}

/// Parses a phase; an unknown word becomes `phase::other`.
[[nodiscard]] inline bool read_phase(std::string_view text, phase& out) noexcept {
    constexpr std::array<std::string_view, 7> names{"init", "load", "compile", "train", "eval", "save", "idle"};
    std::size_t at = 0;
    while (at < names.size() && names[at] != text) ++at;
    out = static_cast<phase>(at);
    return text.size() <= max_word;
}

/// Parses 0 or 1.
[[nodiscard]] inline bool read_flag(std::string_view text, bool& out) noexcept {
    out = text == "1";
    return out || text == "0";
}

/// True for names of devices separated by commas, none of them empty.
[[nodiscard]] constexpr bool is_device_list(std::string_view text) noexcept {
    if (text.size() > max_devices) return false;
    std::size_t length = 0;  // of the name so far
    for (char const c : text) {
        if (c == ',' ? length == 0 : length == max_word) return false;
        length = c == ',' ? 0 : length + 1;
    }
    return length != 0;
}

/// True for the absolute path of a file below a directory. The receiver validates the directory.
[[nodiscard]] constexpr bool is_socket_path(std::string_view text) noexcept {
    auto const cut = text.rfind('/');
    if (text.size() > max_socket_path || !text.starts_with('/') || cut == 0) return false;
    auto const name = text.substr(cut + 1);
    return !name.empty() && name != "." && name != "..";
}

/// A key, and the function that parses its value into the message.
struct field {
    std::string_view key;
    bool (*read)(std::string_view, message&) noexcept;
};

/// All keys of P1.
inline constexpr std::array<field, 23> fields{{
    {"e", [](std::string_view v, message& m) noexcept { return read_number(v, m.run.value); }},
    {"k", [](std::string_view v, message& m) noexcept { return read_word(v, m.token); }},
    {"j", [](std::string_view v, message& m) noexcept { return read_word(v, m.job); }},
    {"r", [](std::string_view v, message& m) noexcept { return read_number(v, m.rank); }},
    {"q", [](std::string_view v, message& m) noexcept { return read_number(v, m.sequence) && m.sequence != 0; }},
    {"s", [](std::string_view v, message& m) noexcept { return read_number(v, m.body.step); }},
    {"c",
     [](std::string_view v, message& m) noexcept {
         return m.body.type == message_type::acknowledge ? read_number(v, m.body.command) && m.body.command != 0
                                                         : read_count(v, m.body.loss_count);
     }},
    {"l", [](std::string_view v, message& m) noexcept { return read_real(v, m.body.loss_mean); }},
    {"nf", [](std::string_view v, message& m) noexcept { return read_count(v, m.body.non_finite); }},
    {"x", [](std::string_view v, message& m) noexcept { return read_number(v, m.body.total_steps); }},
    {"d",
     [](std::string_view v, message& m) noexcept {
         auto& seconds = m.body.type == message_type::checkpoint ? m.body.save_seconds : m.body.step_seconds;
         return read_real(v, seconds) && seconds >= 0;
     }},
    {"b", [](std::string_view v, message& m) noexcept { return read_count(v, m.body.batch) && m.body.batch != 0; }},
    {"m", [](std::string_view v, message& m) noexcept { return read_word(v, m.body.metric); }},
    {"v", [](std::string_view v, message& m) noexcept { return read_real(v, m.body.value); }},
    {"ph", [](std::string_view v, message& m) noexcept { return read_phase(v, m.body.now); }},
    {"ok",
     [](std::string_view v, message& m) noexcept {
         return read_flag(v, m.body.type == message_type::acknowledge ? m.body.taken_in : m.body.durable);
     }},
    {"rc", [](std::string_view v, message& m) noexcept { return read_number(v, m.body.exit_code); }},
    {"why", [](std::string_view v, message& m) noexcept { return read_word(v, m.body.why); }},
    {"w", [](std::string_view v, message& m) noexcept { return read_number(v, m.body.world); }},
    {"t", [](std::string_view v, message& m) noexcept { return read_number(v, m.body.threads); }},
    {"g",
     [](std::string_view v, message& m) noexcept {
         m.body.devices = v;
         return is_device_list(v);
     }},
    {"rx",
     [](std::string_view v, message& m) noexcept {
         m.body.control = v;
         return is_socket_path(v);
     }},
    {"n", [](std::string_view v,
             message& m) noexcept { return read_number(v, m.body.wanted) && m.body.wanted <= max_wanted; }},
}};

/// The index of a key, which must not be empty; the number of keys if it is unknown.
[[nodiscard]] constexpr std::size_t index_of(std::string_view key) noexcept {
    std::size_t at = 0;
    // The first letter is usually enough
    while (at < fields.size() && (fields[at].key.front() != key.front() || fields[at].key != key)) ++at;
    return at;
}

/// A set of keys as bits.
[[nodiscard]] constexpr std::uint32_t bits(std::initializer_list<std::string_view> keys) noexcept {
    std::uint32_t all = 0;
    for (auto const key : keys) all |= std::uint32_t{1} << index_of(key);
    return all;
}

/// A message type: its required keys, and its optional ones. Other keys are ignored.
struct type_rule {
    std::string_view word;
    std::uint32_t needs;
    std::uint32_t reads;
};

/// The keys of every message.
inline constexpr std::uint32_t always = bits({"e", "k", "j", "r", "q"});

/// In the order of `message_type`; the last one is for unknown types.
inline constexpr std::array<type_rule, 10> types{{{"hello", bits({"w"}), bits({"t", "g", "rx"})},
                                                  {"step", bits({"s", "c"}), bits({"l", "nf", "x", "d", "b"})},
                                                  {"eval", bits({"s", "m"}), bits({"v", "nf"})},
                                                  {"ckpt", bits({"s", "ok"}), bits({"d"})},
                                                  {"phase", bits({"ph"}), 0},
                                                  {"hb", 0, 0},
                                                  {"ack", bits({"c", "ok"}), 0},
                                                  {"want", bits({"n"}), 0},
                                                  {"bye", bits({"rc"}), bits({"why"})},
                                                  {"", 0, 0}}};

/// The rule of a type.
[[nodiscard]] constexpr type_rule const& rule_of(message_type type) noexcept {
    return types[static_cast<std::size_t>(type)];
}

/// The type of a word.
[[nodiscard]] constexpr message_type type_of(std::string_view word) noexcept {
    std::size_t at = 0;
    while (at + 1 < types.size() && types[at].word != word) ++at;
    return static_cast<message_type>(at);
}

/// True for a lower-case word of at most 16 characters.
[[nodiscard]] constexpr bool is_key(std::string_view key) noexcept {
    auto const lower = [](char c) { return c >= 'a' && c <= 'z'; };
    if (key.empty() || key.size() > 16 || !lower(key.front())) return false;
    for (char const c : key)
        if (!lower(c) && !(c >= '0' && c <= '9') && c != '_') return false;
    return true;
}

/// Removes and returns the text up to the next space.
[[nodiscard]] constexpr std::string_view take_word(std::string_view& rest) noexcept {
    auto const word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : word.size());
    return word;
}

/// An error about a message. Its subject comes from outside and may be printed to a terminal, so
/// only printable characters are kept.
[[nodiscard]] inline error bad_message(std::string_view what, char const* remedy) noexcept {
    error out{errc::invalid_value, "read a progress message", {}, 0, remedy};
    for (char const c : what.substr(0, max_word))
        out.subject.append(c >= ' ' && c <= '~' ? std::string_view(&c, 1) : "?");
    return out;
}

/// Parses every KEY=VALUE, and returns the bits of the keys.
[[nodiscard]] inline result<std::uint32_t> read_pairs(std::string_view pairs, message& out) noexcept {
    auto const& rule = rule_of(out.body.type);
    auto const known = always | rule.needs | rule.reads;
    std::uint32_t seen = 0;
    while (!pairs.empty()) {
        auto const pair = take_word(pairs);
        auto const key = pair.substr(0, pair.find('='));
        auto const value = pair.substr(key.size() < pair.size() ? key.size() + 1 : key.size());
        if (!is_key(key) || !is_word(value))
            return bad_message(pair, "a pair is KEY=VALUE in printable ASCII, pairs are parted by one space");
        auto const at = index_of(key);
        // Later versions of P1 may add keys.
        if (at == fields.size() || (known >> at & 1U) == 0) continue;
        if ((seen >> at & 1U) != 0 || !fields[at].read(value, out))
            return bad_message(pair, "the key came twice, or its value is not one that the key can have");
        seen |= std::uint32_t{1} << at;
    }
    return seen;
}

/// Validates the combination of keys.
[[nodiscard]] inline result<void> check_keys(std::uint32_t seen, message const& from) noexcept {
    auto const& reply = from.body;
    auto const has = [seen](std::string_view key) { return (seen & bits({key})) != 0; };
    auto const needs = always | rule_of(reply.type).needs;
    if ((seen & needs) != needs) {
        return bad_message(rule_of(reply.type).word,
                           "a key is missing: every message carries e, k, j, r and q, and its type's own");
    }
    if (reply.type == message_type::step && has("l") != (reply.loss_count != 0))
        return bad_message("l", "a step carries the mean l if, and only if, it averages any losses (c)");
    if (reply.type == message_type::eval && has("v") == (reply.non_finite != 0))
        return bad_message("v", "an eval carries either its value v or nf=1");
    // The other ranks receive commands from rank 0 through the training framework.
    if (has("rx") && from.rank != 0) return bad_message("rx", "rank 0 alone listens for commands");
    return {};
}

}  // namespace detail

/// Parses one datagram. Keys that do not belong to its type are ignored; an unknown type becomes
/// `message_type::unknown`. Error: `invalid_value` with the wrong part. No allocation; the result
/// points into `datagram`. O(bytes).
[[nodiscard]] inline result<message> parse_message(std::string_view datagram) noexcept {
    if (datagram.size() > max_datagram) return detail::bad_message("too long", "a message has at most 1024 bytes");
    // Shell scripts send a line end.
    if (datagram.ends_with('\n')) datagram.remove_suffix(1);
    if (!datagram.starts_with("P1 ") || datagram.ends_with(' '))
        return detail::bad_message(datagram, "a message is: P1 TYPE KEY=VALUE ..., with single spaces");
    datagram.remove_prefix(3);
    auto const word = detail::take_word(datagram);
    if (!detail::is_key(word)) return detail::bad_message(word, "a type is a word of lower-case letters");
    message out;
    out.body.type = detail::type_of(word);
    auto const seen = detail::read_pairs(datagram, out);
    if (!seen) return seen.failure();
    if (auto const whole = detail::check_keys(*seen, out); !whole) return whole.failure();
    // A message has no key for a value that is not finite.
    if (out.body.non_finite > 0) {
        constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
        if (out.body.type == message_type::eval) out.body.value = unknown;
        if (out.body.type == message_type::step && out.body.loss_count == 0) out.body.loss_mean = unknown;
    }
    return out;
}

}  // namespace ration::progress
