// SPDX-License-Identifier: BSL-1.0
/// Progress of unmodified scripts: bytes of standard output or error in, updates out.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/progress/detail/log_number.hpp>
#include <ration/progress/detail/log_pattern.hpp>
#include <ration/progress/line_reader.hpp>
#include <ration/progress/update.hpp>

namespace ration::progress {

/// Counters of the lines of a stream.
struct log_counts {
    std::uint64_t lines = 0;       ///< complete and not blank
    std::uint64_t matched = 0;     ///< of these
    std::uint64_t repeated = 0;    ///< values that a redrawn line has again, with the same step as before
    std::uint64_t unreadable = 0;  ///< matched, but a group is not a whole number
    std::uint64_t reported = 0;    ///< updates that were passed on
    std::uint64_t overlong = 0;    ///< not parsed: a line that is cut off may end inside a number
    std::uint64_t costly = 0;      ///< not parsed: the searches would take too many steps
};

/// How often the texts of one group were numbers.
struct group_counts {
    std::uint64_t read = 0, unreadable = 0;
};

/// A group of a pattern, and its text in a line.
struct named_text {
    std::string group, text;
};

/// Parses one stream. Groups of a pattern: `loss`; `step` (up to the first one losses are counted, or matches where no
/// pattern reads losses); `total`; any other name is a metric, reported as an evaluation. NaN and infinities count as
/// non-finite in every spelling. A group that begins or ends inside a number is not a number, unless the pattern
/// requires the next character, as in `(?<accuracy>\d+)%`. Each line is searched for all patterns; if several have a
/// group of one name, the first that matches gives its text.
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
        while (!bytes.empty()) bytes.remove_prefix(feed_line(bytes, sink));
    }

    /// The same up to the end of the first line, for a caller that has other work between lines. Returns the number of
    /// bytes that it parsed.
    template <std::invocable<update const&> Sink>
    std::size_t feed_line(std::string_view bytes, Sink&& sink) noexcept {
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            if (!reader_.put(bytes[at])) continue;
            take_line(sink);
            return at + 1;
        }
        return bytes.size();
    }

    /// The text up to the next end of a line is not parsed: bytes of the stream are missing before it.
    void skip_line() noexcept { skips_line_ = true; }

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
    /// The counters of a metric. O(metrics).
    [[nodiscard]] group_counts counts_of(std::string_view metric) const noexcept {
        auto const found = std::ranges::find(values_, metric, &value::metric);
        return found == values_.end() ? group_counts{} : found->counts;
    }

private:
    /// The text of a group in the present line.
    struct field {
        std::string_view group, text, expected_after;
    };

    /// The last value of a metric that was passed to the sink.
    struct value {
        std::string metric, text;
        std::uint64_t step = 0;
        group_counts counts;
    };

    log_adapter(std::vector<detail::log_pattern>&& patterns, job_id job, incarnation_id run) noexcept
        : patterns_(std::move(patterns)), job_(job), run_(run), reads_loss_(reads("loss")) {}

    /// True if a pattern has this group.
    [[nodiscard]] bool reads(std::string_view group) const noexcept {
        return std::ranges::any_of(patterns_, [&](auto const& pattern) {
            return std::ranges::find(pattern.groups(), group, &detail::named_group::name) != pattern.groups().end();
        });
    }

    template <class Sink>
    /// Parses the line of the reader.
    void take_line(Sink& sink) noexcept {
        if (std::exchange(skips_line_, false)) return;
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

    /// Searches the line for every pattern, and collects the groups. Returns false if none matches, or the line would
    /// cost too much.
    [[nodiscard]] bool search_all() {
        fields_.clear();
        bool matched = false;
        detail::step_budget budget;
        for (auto const& pattern : patterns_) {
            detail::log_pattern::match found;
            if (!pattern.search(reader_.line(), found, budget)) continue;
            matched = true;
            for (auto const& group : pattern.groups()) {
                auto const text = detail::log_pattern::text_of(found, group.index);
                bool const first = std::ranges::find(fields_, group.name, &field::group) == fields_.end();
                if (first && !text.empty()) fields_.push_back({group.name, text, group.expected_after});
            }
        }
        counts_.costly += budget.exhausted() ? 1 : 0;
        return matched && !budget.exhausted();
    }

    /// True for the groups that are counters and no metrics.
    [[nodiscard]] static bool is_counter(std::string_view group) noexcept {
        return group == "step" || group == "total";
    }

    /// True if the group has only a part of a number of the line.
    [[nodiscard]] bool is_half(field const& of) const noexcept {
        return detail::is_half_a_number(reader_.line(), of.text, of.expected_after);
    }

    /// Parses `step` and `total` if the line has them. Returns false if one is not a number.
    [[nodiscard]] bool read_counters(report& out) noexcept {
        for (auto const& one : fields_) {
            if (!is_counter(one.group)) continue;
            bool const is_step = one.group == "step";
            if (is_half(one) || !detail::read_number(one.text, is_step ? out.step : out.total_steps)) {
                add_unreadable(one);
                lose_metrics();
                return false;
            }
            has_step_ = has_step_ || is_step;
        }
        return true;
    }

    void add_unreadable(field const& of) noexcept {
        ++counts_.unreadable;
        unreadable_.group = of.group;
        unreadable_.text = is_half(of) ? detail::whole_word(reader_.line(), of.text) : of.text;
    }

    /// Without a step the values of a line are not read.
    void lose_metrics() noexcept {
        for (auto const& one : fields_)
            if (!is_counter(one.group)) ++value_of(one.group).counts.unreadable;
    }

    template <class Sink>
    /// Makes updates from the fields of a line.
    void take_fields(Sink& sink) noexcept {
        report base;
        base.step = step_;
        bool const counted = !has_step_;
        if (!read_counters(base)) return;
        // Reported with the update: the job went back to a checkpoint. Counted steps say nothing of it.
        bool const back = base.step < step_ && !counted;
        if (!has_step_ && !reads_loss_) ++base.step;
        step_ = base.step;
        for (auto const& one : fields_) {
            if (is_counter(one.group)) continue;
            if (one.group == "loss")
                take_loss(one, base, back, sink);
            else
                take_metric(one, base, sink);
        }
    }

    /// The last value of a metric.
    [[nodiscard]] value& value_of(std::string_view metric) {
        auto found = std::ranges::find(values_, metric, &value::metric);
        return found != values_.end() ? *found : values_.emplace_back(value{std::string(metric), {}, 0, {}});
    }

    /// True if the metric had this text at this step already, and the line redraws the one before, as a progress bar
    /// does. Lines of their own are values of their own.
    [[nodiscard]] bool is_repeated(value& last, std::string_view text, std::uint64_t step) noexcept {
        bool const repeated = reader_.redraws() && last.step == step && last.text == text;
        counts_.repeated += repeated ? 1 : 0;
        last.step = step;
        last.text = text;
        return repeated;
    }

    /// The value of a field, which is counted for its group. Nothing if it is not a number.
    [[nodiscard]] std::optional<double> read(field const& of, value& last) noexcept {
        auto const number = is_half(of) ? std::nullopt : detail::read_value(of.text);
        ++(number ? last.counts.read : last.counts.unreadable);
        if (!number) add_unreadable(of);
        return number;
    }

    template <class Sink>
    /// Makes an update of type step.
    void take_loss(field const& of, report reply, bool back, Sink& sink) noexcept {
        auto& last = value_of("loss");
        auto const number = read(of, last);
        if (!number) return;
        if (!has_step_)
            reply.step = ++step_;
        else if (is_repeated(last, of.text, reply.step))
            return;
        bool const finite = std::isfinite(*number);
        reply.type = message_type::step;
        reply.loss_count = finite ? 1 : 0;
        reply.non_finite = finite ? 0 : 1;
        reply.loss_mean = *number;
        pass(reply, back, sink);
    }

    template <class Sink>
    /// Makes an update of type eval.
    void take_metric(field const& of, report reply, Sink& sink) noexcept {
        auto& last = value_of(of.group);
        auto const number = read(of, last);
        if (!number || (has_step_ && is_repeated(last, of.text, reply.step))) return;
        reply.type = message_type::eval;
        reply.metric = of.group;
        reply.non_finite = std::isfinite(*number) ? 0 : 1;
        reply.value = *number;
        pass(reply, false, sink);
    }

    template <class Sink>
    /// Passes an update to the sink.
    void pass(report const& reply, bool back, Sink& sink) noexcept {
        update const out{job_, run_, 0, 0, back, reply};
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
    bool reads_loss_;  ///< without it lines with metrics are counted, where steps are counted
    bool skips_line_ = false;
    bool has_step_ = false;      ///< a step was read; before it they are counted
    std::uint64_t step_ = 0;     ///< the last one read or counted
    std::vector<value> values_;  ///< of each metric
};

}  // namespace ration::progress
