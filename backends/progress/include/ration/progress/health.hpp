// SPDX-License-Identifier: BSL-1.0
/// What a job's reports and its use of the processor say together: is it getting on?
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <ration/host/backend.hpp>
#include <ration/progress/update.hpp>

namespace ration::progress {

enum class condition : std::uint8_t {
    unheard,    ///< has not reported yet in this incarnation: no judgement
    reporting,  ///< as it should be
    silent,     ///< has stopped reporting, though it uses the processor (or nobody measures that)
    stalled,    ///< no step for too long, and no use of the processor either
    suspect,    ///< its last message about steps had a loss that was NaN or infinite
    diverged,   ///< three such messages on end, or it said so itself
};

[[nodiscard]] constexpr std::string_view name_of(condition state) noexcept {
    constexpr std::array<std::string_view, 6> names{"not reporting yet", "reporting", "stopped reporting",
                                                    "stalled",           "suspect",   "diverged"};
    return names[static_cast<std::size_t>(state)];
}

/// How long each phase may go on without a sign of getting on. None for `idle`: waiting is what it is for.
[[nodiscard]] constexpr std::optional<nanoseconds> budget_of(phase now) noexcept {
    switch (now) {
        case phase::train: return seconds(60);  // at least; and ten steps' time
        case phase::init:
        case phase::load:
        case phase::save:
        case phase::other: return seconds(600);
        case phase::compile:
        case phase::eval: return seconds(1800);
        case phase::idle: break;
    }
    return std::nullopt;
}

namespace detail {

/// The median of the last 31 step times.
class step_times {
    std::array<double, 31> last_{};
    std::size_t count_ = 0;

public:
    void add(double seconds_each) noexcept { last_[count_++ % last_.size()] = seconds_each; }

    /// 0 before the first one.
    [[nodiscard]] double median() const noexcept {
        auto sorted = last_;
        auto const end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count_, last_.size()));
        auto const middle = sorted.begin() + (end - sorted.begin()) / 2;
        std::nth_element(sorted.begin(), middle, end);
        return middle == end ? 0 : *middle;
    }
};

/// Whether a process uses the processor, from its cumulative counters.
class activity {
    bool seen_ = false;
    nanoseconds at_{};  ///< of the last sample that was compared
    nanoseconds used_{};
    nanoseconds active_{};  ///< when it was last seen to use any

public:
    /// Time under a quota that holds the job back counts as use: the job would run if it could.
    void observe(nanoseconds now, observation const& sample) noexcept {
        auto const used = sample.cpu_time + sample.throttled;
        auto const passed = now - at_;
        if (seen_ && passed < seconds(1)) return;
        if (!seen_ || (used - used_).count > passed.count / 100)  // 1 % of a core: more than an idle poll loop
            active_ = now;
        seen_ = true;
        at_ = now;
        used_ = used;
    }

    /// Has not used any for ten seconds.
    [[nodiscard]] bool flat(nanoseconds now) const noexcept { return seen_ && now - active_ >= seconds(10); }

    void shift(nanoseconds by) noexcept {
        active_ = active_ + by;
        at_ = at_ + by;
    }
};

}  // namespace detail

/// Follows one job. Pure: all times are the caller's, on one clock that does not go back.
class health {
public:
    explicit health(nanoseconds now) noexcept : phase_at_(now), step_at_(now), received_at_(now) {}

    /// A new incarnation: nothing that the old one did is held against it.
    void restart(nanoseconds now) noexcept { *this = health(now); }

    void handle(nanoseconds now, update const& reply) noexcept {
        phase_at_ = received_ ? phase_at_ : now;  // until its first word a job has nothing to be late with
        received_ = true;
        received_at_ = now;
        auto const& what = reply.body;
        switch (what.type) {
            case message_type::step: return handle_step(now, reply);
            case message_type::phase: declared_ = true; return enter(now, what.now);
            case message_type::bye:
                reported_diverged_ = reported_diverged_ || what.why == "diverged";
                return enter(now, phase::idle);
            default: return;
        }
    }

    /// The job's counters, about once a second.
    void observe(nanoseconds now, observation const& seen) noexcept { activity_.observe(now, seen); }

    /// While a job is frozen by its owner's hand no time passes for it.
    void suspend(nanoseconds now) noexcept {
        suspended_at_ = suspended_ ? suspended_at_ : now;
        suspended_ = true;
    }
    void resume(nanoseconds now) noexcept {
        if (!suspended_) return;
        auto const by = now - suspended_at_;
        suspended_ = false;
        for (auto* at : {&phase_at_, &step_at_, &received_at_}) *at = *at + by;
        stepped_ = false;
        activity_.shift(by);
    }

    [[nodiscard]] condition at(nanoseconds now) const noexcept {
        now = suspended_ ? suspended_at_ : now;
        if (reported_diverged_ || diverged_) return condition::diverged;
        if (!received_) return condition::unheard;
        auto const budget = patience();
        if (budget && now - std::max(step_at_, phase_at_) > *budget && activity_.flat(now)) return condition::stalled;
        if (budget && now - received_at_ > *budget) return condition::silent;
        return bad_ != 0 ? condition::suspect : condition::reporting;
    }

    [[nodiscard]] phase doing() const noexcept { return phase_; }

    /// Median over the last messages, in seconds; 0 when not known.
    [[nodiscard]] double step_seconds() const noexcept { return times_.median(); }

private:
    void enter(nanoseconds now, phase next) noexcept {
        phase_ = next;
        phase_at_ = now;
        stepped_ = false;
    }

    void handle_step(nanoseconds now, update const& reply) noexcept {
        auto const& what = reply.body;
        if (!declared_ && phase_ != phase::train)  // a plain loop that never names a phase trains
            enter(now, phase::train);
        if (what.step_seconds > 0)
            times_.add(what.step_seconds);
        else if (stepped_ && what.step > step_)
            times_.add(to_seconds(now - step_at_) / static_cast<double>(what.step - step_));
        stepped_ = true;
        step_ = what.step;
        step_at_ = now;
        good_ = what.non_finite == 0 ? good_ + 1 : 0;
        bad_ = what.non_finite == 0 ? 0 : bad_ + 1;
        diverged_ = diverged_ ? good_ < 3 : bad_ >= 3;  // the way back is as long as the way there
    }

    [[nodiscard]] std::optional<nanoseconds> patience() const noexcept {
        auto const budget = budget_of(phase_);
        if (!budget || phase_ != phase::train) return budget;
        // bounded: a job may claim any step time
        return std::max(*budget, seconds(std::min(10 * times_.median(), 1e8)));
    }

    phase phase_ = phase::init;
    nanoseconds phase_at_, step_at_, received_at_, suspended_at_{};
    std::uint64_t step_ = 0;
    detail::step_times times_;
    detail::activity activity_;
    std::uint32_t good_ = 0;
    std::uint32_t bad_ = 0;
    bool stepped_ = false;  ///< `step_` was told in this phase: the time since then is a step time
    bool suspended_ = false;
    bool received_ = false;
    bool declared_ = false;
    bool diverged_ = false;
    bool reported_diverged_ = false;
};

}  // namespace ration::progress
