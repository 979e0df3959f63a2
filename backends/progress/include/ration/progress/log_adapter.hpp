// SPDX-License-Identifier: BSL-1.0
/// Progress of unmodified scripts: bytes of standard output or error in, updates out.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <ration/progress/detail/log_pattern.hpp>
#include <ration/progress/update.hpp>

namespace ration::progress {

/// Counters of the lines of a stream.
struct log_counts {
    std::uint64_t lines = 0;       ///< complete and not empty
    std::uint64_t matched = 0;     ///< of these
    std::uint64_t repeated = 0;    ///< matched, but drawn again: same step and same loss as the line before
    std::uint64_t unreadable = 0;  ///< matched, but a group is not a number
    std::uint64_t overlong = 0;    ///< not parsed: a line that is cut off may end inside a number
};

/// Splits bytes, in pieces of any size, into the lines that a terminal would show, without escape
/// sequences. A line ends with a newline, or with the carriage return or backspace with which a
/// progress bar redraws itself.
class line_reader {
public:
    static constexpr std::size_t max_line = 4096;  ///< bytes

    /// Adds a byte. Returns true if it ended a line, which is in `line()` until the next call.
    [[nodiscard]] bool put(char byte) noexcept {
        if (ended_) {
            line_.clear();
            overlong_ = ended_ = false;
        }
        if (byte == '\n' || byte == '\r' || byte == '\b') {
            state_ =
                state::plain;  // an escape sequence does not span lines: a broken one must not hide the rest of the log
            return ended_ = true;
        }
        if (skips(byte)) return false;
        if (line_.size() < max_line)
            line_ += byte;
        else
            overlong_ = true;
        return false;
    }

    /// The last line.
    [[nodiscard]] std::string_view line() const noexcept { return line_; }
    /// True if the line was cut off.
    [[nodiscard]] bool overlong() const noexcept { return overlong_; }

private:
    enum class state : std::uint8_t { plain, escape, control, string, string_escape };

    /// Skips escape sequences of ECMA-48: ESC [ ... letter; ESC ] ... until BEL or ESC \; ESC and
    /// one character.
    [[nodiscard]] bool skips(char byte) noexcept {
        switch (state_) {
            case state::plain:
                state_ = byte == '\x1b' ? state::escape : state::plain;
                return static_cast<unsigned char>(byte) < ' ' && byte != '\t';
            case state::escape:
                state_ = byte == '['                                                               ? state::control
                         : byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_' ? state::string
                         : byte >= ' ' && byte <= '/'                                              ? state::escape
                                                                                                   : state::plain;
                return true;
            case state::control: state_ = byte >= '@' && byte <= '~' ? state::plain : state::control; return true;
            case state::string:
                state_ = byte == '\a' ? state::plain : byte == '\x1b' ? state::string_escape : state::string;
                return true;
            case state::string_escape: state_ = byte == '\\' ? state::plain : state::string; return true;
        }
        return false;
    }

    std::string line_;
    state state_ = state::plain;
    bool ended_ = false;
    bool overlong_ = false;
};

/// Parses one stream. Groups of the pattern: `loss`; `step` (without it, matches are counted);
/// `total`; any other name is a metric, reported as an evaluation. NaN and infinities count as
/// non-finite in every spelling.
class log_adapter {
public:
    /// Compiles the pattern. Error: `invalid_value` with the pattern and the missing part.
    [[nodiscard]] static result<log_adapter> make(std::string_view pattern, job_id job, incarnation_id run) noexcept {
        auto made = detail::log_pattern::make(pattern);
        if (!made) return made.failure();
        return log_adapter(std::move(*made), job, run);
    }

    /// Parses bytes. `sink(update const&)` is called for each update; its texts are valid until it
    /// returns. O(bytes).
    template <std::invocable<update const&> Sink>
    void feed(std::string_view bytes, Sink&& sink) noexcept {
        for (char const byte : bytes)
            if (reader_.put(byte)) take_line(sink);
    }

    /// Ends the stream: text without an end of line counts as a line.
    template <std::invocable<update const&> Sink>
    void finish(Sink&& sink) noexcept {
        feed("\n", sink);
    }

    /// The counters.
    [[nodiscard]] log_counts const& counts() const noexcept { return counts_; }

private:
    /// The result of parsing a number.
    enum class number : std::uint8_t { finite, non_finite, unreadable };

    log_adapter(detail::log_pattern&& pattern, job_id job, incarnation_id run) noexcept
        : pattern_(std::move(pattern)), job_(job), run_(run),
          counts_steps_(std::ranges::find(pattern_.groups(), "step", &detail::named_group::name) ==
                        pattern_.groups().end()) {}

    /// Parses a value in any spelling.
    [[nodiscard]] static number read_value(std::string_view text, double& out) noexcept {
        if (text.starts_with('+')) text.remove_prefix(1);
        auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
        if (end != text.data() + text.size() || code == std::errc::invalid_argument) return number::unreadable;
        auto const digits = text.substr(text.starts_with('-') ? 1 : 0);
        // from_chars accepts the words nan and inf in any case.
        bool const words = digits.front() > '9';       // nan, inf, Infinity
        if (code == std::errc::result_out_of_range) {  // too large for a double, or so close to 0 that it is 0
            out = 0;
            return text.find("e-") != text.npos || text.find("E-") != text.npos ? number::finite : number::non_finite;
        }
        return words ? number::non_finite : number::finite;
    }

    template <class Sink>
    /// Parses the line of the reader.
    void take_line(Sink& sink) noexcept {
        if (reader_.line().empty()) return;
        ++counts_.lines;
        if (reader_.overlong()) {
            ++counts_.overlong;
            return;
        }
        detail::log_pattern::match found;
        try {
            // std::regex throws if memory runs out; the line is lost, but the run continues.
            if (!pattern_.search(reader_.line(), found)) return;
        } catch (std::exception const&) {
            ++counts_.unreadable;
            return;
        }
        ++counts_.matched;
        take_match(found, sink);
    }

    /// The text of a group; empty if it did not match.
    [[nodiscard]] static std::string_view text_of(detail::log_pattern::match const& found, std::size_t index) noexcept {
        auto const& part = found[index];
        return part.matched ? std::string_view(part.first, static_cast<std::size_t>(part.length()))
                            : std::string_view();
    }

    /// True for the groups that are counters and no metrics.
    [[nodiscard]] static bool is_counter(std::string_view group) noexcept {
        return group == "step" || group == "total";
    }

    /// Parses `step` and `total` if the line has them. Returns false if one is not a number.
    [[nodiscard]] bool read_counters(detail::log_pattern::match const& found, report& out) noexcept {
        for (auto const& group : pattern_.groups()) {
            auto const text = text_of(found, group.index);
            if (is_counter(group.name) && !text.empty() &&
                !detail::read_number(text, group.name == "step" ? out.step : out.total_steps)) {
                return false;
            }
        }
        return true;
    }

    template <class Sink>
    /// Makes updates from a match.
    void take_match(detail::log_pattern::match const& found, Sink& sink) noexcept {
        report base;
        base.step = step_;
        if (!read_counters(found, base)) {
            ++counts_.unreadable;
            return;
        }
        // Reported with the update: the job went back to a checkpoint.
        bool const back = base.step < step_;
        step_ = base.step;
        for (auto const& group : pattern_.groups()) {
            auto const text = text_of(found, group.index);
            if (is_counter(group.name) || text.empty()) continue;
            if (group.name == "loss")
                take_loss(text, base, back, sink);
            else
                take_metric(group.name, text, base, sink);
        }
    }

    template <class Sink>
    /// Makes an update of type step.
    void take_loss(std::string_view text, report reply, bool back, Sink& sink) noexcept {
        reply.type = message_type::step;
        auto const kind = read_value(text, reply.loss_mean);
        if (kind == number::unreadable) {
            ++counts_.unreadable;
            return;
        }
        if (counts_steps_) {
            reply.step = ++step_;
            // A progress bar draws the same line several times.
        } else if (reply.step == last_step_ && text == last_loss_) {
            ++counts_.repeated;
            return;
        }
        reply.loss_count = kind == number::finite ? 1 : 0;
        reply.non_finite = 1 - reply.loss_count;
        reply.loss_mean = kind == number::finite ? reply.loss_mean : 0;
        last_step_ = reply.step;
        last_loss_ = text;
        update const out{job_, run_, 0, 0, back, reply};
        sink(out);
    }

    template <class Sink>
    /// Makes an update of type eval.
    void take_metric(std::string_view name, std::string_view text, report reply, Sink& sink) noexcept {
        reply.type = message_type::eval;
        reply.metric = name;
        auto const kind = read_value(text, reply.value);
        if (kind == number::unreadable) {
            ++counts_.unreadable;
            return;
        }
        reply.non_finite = kind == number::finite ? 0 : 1;
        reply.value = kind == number::finite ? reply.value : 0;
        update const out{job_, run_, 0, 0, false, reply};
        sink(out);
    }

    detail::log_pattern pattern_;
    line_reader reader_;
    log_counts counts_;
    job_id job_;
    incarnation_id run_;
    bool counts_steps_;            ///< the pattern has no group for the step
    std::uint64_t step_ = 0;       ///< the last one read or counted
    std::uint64_t last_step_ = 0;  ///< of the last loss passed to the sink
    std::string last_loss_;
};

}  // namespace ration::progress
