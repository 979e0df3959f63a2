// SPDX-License-Identifier: BSL-1.0
/// How long a policy takes to decide: the one thing of a simulation that is measured, and not computed.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

#include <ration/host/any_policy.hpp>

#include "policies/forwarding_policy.hpp"
#include "policies/plugin_policy.hpp"

namespace ration::program {

/// Times in nanoseconds, counted in classes of at most a sixteenth of an octave.
class decision_times {
    static constexpr std::size_t parts = 16, classes = 48 * parts;
    std::array<std::uint64_t, classes> counts_{};
    std::uint64_t number_ = 0;
    double sum_ = 0, longest_ = 0;

public:
    void add(std::int64_t ns) noexcept {
        double const time = ns > 1 ? static_cast<double>(ns) : 1;
        auto const place = static_cast<std::size_t>(std::log2(time) * parts);
        ++counts_[place < classes ? place : classes - 1];
        ++number_;
        sum_ += time;
        if (time > longest_) longest_ = time;
    }

    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    /// Seconds; 0 when there was no decision.
    [[nodiscard]] double mean() const noexcept { return number_ == 0 ? 0 : sum_ / static_cast<double>(number_) * 1e-9; }
    [[nodiscard]] double longest() const noexcept { return longest_ * 1e-9; }
    /// The upper end of the class that contains this quantile, at most `longest()`. O(classes).
    [[nodiscard]] double quantile(double part) const noexcept {
        double const wanted = part * static_cast<double>(number_);
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < classes; ++i) {
            seen += counts_[i];
            if (seen > 0 && static_cast<double>(seen) >= wanted)
                return std::min(std::exp2(static_cast<double>(i + 1) / parts), longest_) * 1e-9;
        }
        return 0;
    }
};

/// The first tick that a policy did not answer.
struct lost_tick {
    std::uint64_t number = 0;
    nanoseconds at{};
    std::string why;
};

/// Asks another policy, and measures.
class timed_policy final : public forwarding_policy {
    decision_times times_;
    lost_tick first_;
    bool lost_ = false;

public:
    explicit timed_policy(any_policy& policy) noexcept : forwarding_policy(policy) {}

    [[nodiscard]] decision_times const& times() const noexcept { return times_; }
    [[nodiscard]] lost_tick const* first_lost() const noexcept { return lost_ ? &first_ : nullptr; }

    [[nodiscard]] bool follows_changes() const noexcept override { return inner().follows_changes(); }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        auto const start = std::chrono::steady_clock::now();
        auto const reply = inner().decide(t, out);
        times_.add(
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
        if (reply != status::ok && !lost_) note(t, reply);
        return reply;
    }

private:
    void note(tick_data const& t, status reply) {
        lost_ = true;
        first_ = {.number = t.number, .at = t.now, .why = trouble_of(inner())};
        if (first_.why.empty())
            first_.why = "it returned " + std::to_string(static_cast<int>(reply)) + ", see docs/errors.md";
    }
};

/// Grants nothing, so that everything stays as it is: answers when a policy does not.
class noop_policy final : public any_policy {
    static constexpr meta about_{.id = "ration.leave-alone", .version = "1.0.0"};

public:
    [[nodiscard]] meta const& about() const noexcept override { return about_; }
    [[nodiscard]] result<void> bind(std::span<column_info const>, limits const&) noexcept override { return {}; }
    [[nodiscard]] bool reads(std::string_view) const noexcept override { return false; }
    [[nodiscard]] status decide(tick_data const&, grants&) noexcept override { return status::ok; }
};

}  // namespace ration::program
