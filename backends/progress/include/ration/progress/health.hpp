// SPDX-License-Identifier: BSL-1.0
/// The health of a job, from its reports and its use of the processor: does it make progress?
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

/// The condition of a job.
enum class condition : std::uint8_t {
    unheard,    ///< no report in this incarnation yet
    reporting,  ///< healthy
    silent,     ///< no reports any more, although it uses the processor (or that is not measured)
    stalled,    ///< no step for too long, and no use of the processor
    suspect,    ///< its last message about the loss, or the metric of its target, had a value that was NaN or infinite
    diverged,   ///< three such messages in a row, or the job reported it
};

/// The condition in words, for messages.
[[nodiscard]] constexpr std::string_view name_of(condition state) noexcept {
    constexpr std::array<std::string_view, 6> names{"not reporting yet", "reporting", "stopped reporting",
                                                    "stalled",           "suspect",   "diverged"};
    return names[static_cast<std::size_t>(state)];
}

/// The time for which each phase may continue without progress. `idle` has no timeout.
[[nodiscard]] constexpr std::optional<nanoseconds> budget_of(phase now) noexcept {
    switch (now) {
        case phase::train: return seconds(60);  // at least; or the time of ten steps
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
    /// Adds a step time.
    void add(double seconds_each) noexcept { last_[count_++ % last_.size()] = seconds_each; }

    /// The median in seconds; 0 before the first step.
    [[nodiscard]] double median() const noexcept {
        auto sorted = last_;
        auto const end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count_, last_.size()));
        auto const middle = sorted.begin() + (end - sorted.begin()) / 2;
        std::nth_element(sorted.begin(), middle, end);
        return middle == end ? 0 : *middle;
    }
};

/// Measures whether a process uses the processor, from cumulative counters.
class activity {
    bool seen_ = false;
    nanoseconds at_{};  ///< of the last compared sample
    nanoseconds used_{};
    nanoseconds active_{};  ///< last time with any use

public:
    /// Adds a sample. Throttled time counts as use: the job would run if it could.
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

    /// True if it used none for ten seconds.
    [[nodiscard]] bool flat(nanoseconds now) const noexcept { return seen_ && now - active_ >= seconds(10); }

    /// Moves all times, after a suspension.
    void shift(nanoseconds by) noexcept {
        active_ = active_ + by;
        at_ = at_ + by;
    }
};

}  // namespace detail

/// Why a job counts as diverged.
enum class divergence : std::uint8_t {
    none,
    loss,      ///< its loss is NaN or infinite
    metric,    ///< the metric of its target is
    reported,  ///< the job reported it
};

namespace detail {

/// Whether the values of a metric are NaN or infinite for good.
class finiteness {
    std::uint32_t good_ = 0;  ///< messages in a row
    std::uint32_t bad_ = 0;   ///< likewise
    bool lost_ = false;

public:
    /// Adds a message.
    void add(bool finite) noexcept {
        good_ = finite ? good_ + 1 : 0;
        bad_ = finite ? 0 : bad_ + 1;
        lost_ = lost_ ? good_ < 3 : bad_ >= 3;  // recovery needs as many messages as divergence
    }
    /// True after three messages in a row without a finite value, until three in a row have some.
    [[nodiscard]] bool is_lost() const noexcept { return lost_; }
    /// True after a message without one.
    [[nodiscard]] bool is_suspect() const noexcept { return bad_ != 0; }
};

}  // namespace detail

/// The health of one job. It reads no clock: all times come from the caller, on one clock that
/// never decreases.
class health {
public:
    /// A job that was started at `now`.
    explicit health(nanoseconds now) noexcept : phase_at_(now), step_at_(now), received_at_(now) {}

    /// Starts a new incarnation; state of the previous one is discarded.
    void restart(nanoseconds now) noexcept { *this = health(now); }

    /// Processes a report. `metric`: that of the job's target, whose evaluations count for divergence as losses do.
    void handle(nanoseconds now, update const& reply, std::string_view metric = {}) noexcept {
        phase_at_ = received_ ? phase_at_ : now;  // timeouts start at the first message
        received_ = true;
        received_at_ = now;
        auto const& what = reply.body;
        switch (what.type) {
            case message_type::step: return handle_step(now, reply);
            case message_type::eval:
                if (what.metric == metric) metric_.add(what.non_finite == 0);
                return;
            case message_type::phase: declared_ = true; return enter(now, what.now);
            case message_type::bye:
                reported_diverged_ = reported_diverged_ || what.why == "diverged";
                return enter(now, phase::idle);
            default: return;
        }
    }

    /// Adds a sample of the job's counters, about once a second.
    void observe(nanoseconds now, observation const& seen) noexcept { activity_.observe(now, seen); }

    /// No timeout runs while the user has frozen the job.
    void suspend(nanoseconds now) noexcept {
        suspended_at_ = suspended_ ? suspended_at_ : now;
        suspended_ = true;
    }
    /// Ends a suspension.
    void resume(nanoseconds now) noexcept {
        if (!suspended_) return;
        auto const by = now - suspended_at_;
        suspended_ = false;
        for (auto* at : {&phase_at_, &step_at_, &received_at_}) *at = *at + by;
        stepped_ = false;
        activity_.shift(by);
    }

    /// The condition at this time.
    [[nodiscard]] condition at(nanoseconds now) const noexcept {
        now = suspended_ ? suspended_at_ : now;
        if (diverged_by() != divergence::none) return condition::diverged;
        if (!received_) return condition::unheard;
        // A stall needs both signs: without a step a job may compute, and without load it may wait
        // for data.
        auto const budget = patience();
        if (budget && now - std::max(step_at_, phase_at_) > *budget && activity_.flat(now)) return condition::stalled;
        if (budget && now - received_at_ > *budget) return condition::silent;
        return loss_.is_suspect() || metric_.is_suspect() ? condition::suspect : condition::reporting;
    }

    /// Why it is diverged; `none` if it is not.
    [[nodiscard]] divergence diverged_by() const noexcept {
        if (loss_.is_lost()) return divergence::loss;
        if (metric_.is_lost()) return divergence::metric;
        return reported_diverged_ ? divergence::reported : divergence::none;
    }

    /// The present phase.
    [[nodiscard]] phase doing() const noexcept { return phase_; }

    /// The median step time of the last messages, in seconds; 0 if unknown.
    [[nodiscard]] double step_seconds() const noexcept { return times_.median(); }

private:
    /// Enters a phase.
    void enter(nanoseconds now, phase next) noexcept {
        phase_ = next;
        phase_at_ = now;
        stepped_ = false;
    }

    /// Processes a report of steps.
    void handle_step(nanoseconds now, update const& reply) noexcept {
        auto const& what = reply.body;
        if (!declared_ && phase_ != phase::train)  // a loop that never names a phase is in training
            enter(now, phase::train);
        // The job's own measurement is more exact than the times of arrival.
        if (what.step_seconds > 0)
            times_.add(what.step_seconds);
        else if (stepped_ && what.step > step_)
            times_.add(to_seconds(now - step_at_) / static_cast<double>(what.step - step_));
        stepped_ = true;
        step_ = what.step;
        step_at_ = now;
        loss_.add(what.non_finite == 0);
    }

    /// The timeout of the present phase.
    [[nodiscard]] std::optional<nanoseconds> patience() const noexcept {
        auto const budget = budget_of(phase_);
        if (!budget || phase_ != phase::train) return budget;
        // Bounded, since a job can report any step time
        return std::max(*budget, seconds(std::min(10 * times_.median(), 1e8)));
    }

    phase phase_ = phase::init;
    nanoseconds phase_at_, step_at_, received_at_, suspended_at_{};
    std::uint64_t step_ = 0;
    detail::step_times times_;
    detail::activity activity_;
    detail::finiteness loss_, metric_;
    bool stepped_ = false;  ///< `step_` was reported in this phase, so the time since then is a step time
    bool suspended_ = false;
    bool received_ = false;
    bool declared_ = false;
    bool reported_diverged_ = false;
};

}  // namespace ration::progress
