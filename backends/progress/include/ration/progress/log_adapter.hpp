// SPDX-License-Identifier: BSL-1.0
/// Progress of unmodified scripts: bytes of standard output or error in, updates out.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <ration/progress/detail/log_pattern.hpp>
#include <ration/progress/update.hpp>

namespace ration::progress {

/// Counters of the lines of a stream.
struct log_counts {
    std::uint64_t lines = 0;       ///< complete and not blank
    std::uint64_t matched = 0;     ///< of these
    std::uint64_t repeated = 0;    ///< values that were drawn again, with the same step as before
    std::uint64_t unreadable = 0;  ///< matched, but a group is not a number
    std::uint64_t reported = 0;    ///< updates that were passed on
    std::uint64_t overlong = 0;    ///< not parsed: a line that is cut off may end inside a number
};

/// A group of a pattern, and its text in a line.
struct named_text {
    std::string group, text;
};

/// Splits bytes, in pieces of any size, into the lines that a terminal would show, without escape
/// sequences. A line ends with a newline, or with the carriage return or backspace with which a
/// progress bar redraws itself.
class line_reader {
public:
    static constexpr std::size_t max_line = 4096;  ///< bytes

    line_reader() noexcept = default;
    /// Lines over `longest` bytes are cut off.
    explicit line_reader(std::size_t longest) noexcept : longest_(longest) {}

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
        if (line_.size() < longest_)
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

    std::size_t longest_ = max_line;
    std::string line_;
    state state_ = state::plain;
    bool ended_ = false;
    bool overlong_ = false;
};

/// Parses one stream. Groups of a pattern: `loss`; `step` (without it, losses are counted, without both, matches);
/// `total`; any other name is a metric, reported as an evaluation. NaN and infinities count as
/// non-finite in every spelling. Each line is searched for all patterns; if several have a group of
/// one name, the first that matches gives its text.
class log_adapter {
public:
    /// Compiles the patterns. Error: `invalid_value` with the pattern and the missing part.
    [[nodiscard]] static result<log_adapter> make(std::span<std::string const> patterns, job_id job,
                                                  incarnation_id run) noexcept {
        std::vector<detail::log_pattern> compiled;
        for (std::string const& pattern : patterns) {
            auto made = detail::log_pattern::make(pattern);
            if (!made) return made.failure();
            compiled.push_back(std::move(*made));
        }
        if (std::ranges::none_of(compiled, &detail::log_pattern::reads_metric))
            return detail::bad_pattern(patterns.empty() ? std::string_view() : patterns.front(),
                                       "it needs a group (?<loss>...), or one with the name of another metric");
        return log_adapter(std::move(compiled), job, run);
    }
    /// The same for one pattern.
    [[nodiscard]] static result<log_adapter> make(std::string_view pattern, job_id job, incarnation_id run) noexcept {
        std::string const one(pattern);
        return make(std::span(&one, 1), job, run);
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
    /// The last line that did not match, or had a group that is not a number; empty before the first.
    [[nodiscard]] std::string_view unread_line() const noexcept { return unread_; }
    /// The last group that matched a text that is not a number; empty before the first.
    [[nodiscard]] named_text const& unreadable() const noexcept { return unreadable_; }

private:
    /// The text of a group in the present line.
    struct field {
        std::string_view group, text;
    };

    /// The last value of a metric that was passed to the sink.
    struct value {
        std::string metric, text;
        std::uint64_t step = 0;
    };

    /// The result of parsing a number.
    enum class number : std::uint8_t { finite, non_finite, unreadable };

    log_adapter(std::vector<detail::log_pattern>&& patterns, job_id job, incarnation_id run) noexcept
        : patterns_(std::move(patterns)), job_(job), run_(run), counts_steps_(!reads("step")),
          counts_evaluations_(counts_steps_ && !reads("loss")) {}

    /// True if a pattern has this group.
    [[nodiscard]] bool reads(std::string_view group) const noexcept {
        return std::ranges::any_of(patterns_, [&](auto const& pattern) {
            return std::ranges::find(pattern.groups(), group, &detail::named_group::name) != pattern.groups().end();
        });
    }

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
        if (reader_.line().find_first_not_of(" \t") == std::string_view::npos) return;
        ++counts_.lines;
        if (reader_.overlong()) {
            ++counts_.overlong;
            return;
        }
        try {
            // std::regex throws if memory runs out; the line is lost, but the run continues.
            if (search_all()) {
                ++counts_.matched;
                auto const unreadable = counts_.unreadable;
                take_fields(sink);
                if (counts_.unreadable == unreadable) return;
            }
        } catch (std::exception const&) {
            ++counts_.unreadable;
        }
        unread_ = reader_.line();
    }

    /// Searches the line for every pattern, and collects the groups. Returns false if none matches.
    [[nodiscard]] bool search_all() {
        fields_.clear();
        bool matched = false;
        for (auto const& pattern : patterns_) {
            detail::log_pattern::match found;
            if (!pattern.search(reader_.line(), found)) continue;
            matched = true;
            for (auto const& group : pattern.groups()) {
                auto const text = text_of(found, group.index);
                bool const first = std::ranges::find(fields_, group.name, &field::group) == fields_.end();
                if (first && !text.empty()) fields_.push_back({group.name, text});
            }
        }
        return matched;
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
    [[nodiscard]] bool read_counters(report& out) noexcept {
        for (auto const& [group, text] : fields_) {
            if (!is_counter(group) || detail::read_number(text, group == "step" ? out.step : out.total_steps)) continue;
            add_unreadable(group, text);
            return false;
        }
        return true;
    }

    void add_unreadable(std::string_view group, std::string_view text) noexcept {
        ++counts_.unreadable;
        unreadable_.group = group;
        unreadable_.text = text;
    }

    template <class Sink>
    /// Makes updates from the fields of a line.
    void take_fields(Sink& sink) noexcept {
        report base;
        base.step = step_;
        if (!read_counters(base)) return;
        // Reported with the update: the job went back to a checkpoint.
        bool const back = base.step < step_;
        if (counts_evaluations_) ++base.step;
        step_ = base.step;
        for (auto const& [group, text] : fields_) {
            if (is_counter(group)) continue;
            if (group == "loss")
                take_loss(text, base, back, sink);
            else
                take_metric(group, text, base, sink);
        }
    }

    /// True if the metric had this text at this step already: a progress bar draws a line several times.
    [[nodiscard]] bool is_repeated(std::string_view metric, std::string_view text, std::uint64_t step) noexcept {
        auto found = std::ranges::find(last_, metric, &value::metric);
        if (found == last_.end()) found = last_.insert(found, {std::string(metric), {}, 0});
        bool const repeated = found->step == step && found->text == text;
        counts_.repeated += repeated ? 1 : 0;
        found->step = step;
        found->text = text;
        return repeated;
    }

    template <class Sink>
    /// Makes an update of type step.
    void take_loss(std::string_view text, report reply, bool back, Sink& sink) noexcept {
        reply.type = message_type::step;
        auto const kind = read_value(text, reply.loss_mean);
        if (kind == number::unreadable) return add_unreadable("loss", text);
        if (counts_steps_)
            reply.step = ++step_;
        else if (is_repeated("loss", text, reply.step))
            return;
        reply.loss_count = kind == number::finite ? 1 : 0;
        reply.non_finite = 1 - reply.loss_count;
        reply.loss_mean = kind == number::finite ? reply.loss_mean : 0;
        update const out{job_, run_, 0, 0, back, reply};
        ++counts_.reported;
        sink(out);
    }

    template <class Sink>
    /// Makes an update of type eval.
    void take_metric(std::string_view name, std::string_view text, report reply, Sink& sink) noexcept {
        reply.type = message_type::eval;
        reply.metric = name;
        auto const kind = read_value(text, reply.value);
        if (kind == number::unreadable) return add_unreadable(name, text);
        if (!counts_steps_ && is_repeated(name, text, reply.step)) return;
        reply.non_finite = kind == number::finite ? 0 : 1;
        reply.value = kind == number::finite ? reply.value : 0;
        update const out{job_, run_, 0, 0, false, reply};
        ++counts_.reported;
        sink(out);
    }

    std::vector<detail::log_pattern> patterns_;
    std::vector<field> fields_;  ///< of the present line; they refer to `patterns_` and `reader_`
    line_reader reader_;
    std::string unread_;
    named_text unreadable_;
    log_counts counts_;
    job_id job_;
    incarnation_id run_;
    bool counts_steps_;        ///< no pattern has a group for the step
    bool counts_evaluations_;  ///< and none for the loss, so that the lines with metrics are counted
    std::uint64_t step_ = 0;   ///< the last one read or counted
    std::vector<value> last_;  ///< of each metric
};

}  // namespace ration::progress
