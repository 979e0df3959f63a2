// SPDX-License-Identifier: BSL-1.0
/// A service in a simulation: it runs for a time, and requests the devices that a schedule of its load needs.
///
/// Traces give the schedule in the column `requests`, and `make_serving` draws one. The difference between requested
/// and held devices is SPEC's agility.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/model.hpp>

namespace ration::sim {

/// The devices that a service needs from a time on, which counts from its submission.
struct requested_from {
    nanoseconds at{0};
    std::int64_t devices = 1;
};

/// Each step is a second of service, with any number of devices above 0.
class serving_model final : public job_model {
    std::string text_;
    std::vector<requested_from> schedule_;

public:
    /// Pre: the first entry is at 0, the times ascend, and all numbers of devices are above 0.
    explicit serving_model(std::vector<requested_from> schedule) : schedule_(std::move(schedule)) {
        for (auto const& one : schedule_) {
            if (!text_.empty()) text_ += ' ';
            text_ += std::to_string(one.at.count / 1'000'000'000) + ':' + std::to_string(one.devices);
        }
    }

    /// Reads "0:2 600:8": whole seconds and devices. None if it is not a schedule: the first time is not 0, times do
    /// not ascend, or a number is not from 1 to 1000000 devices and 0 to 9000000000 seconds. O(text).
    [[nodiscard]] static std::optional<std::vector<requested_from>> schedule_in(std::string_view text) {
        std::vector<requested_from> out;
        while (!text.empty()) {
            auto const word = text.substr(0, text.find(' '));
            auto const colon = word.find(':');
            if (colon == word.npos) return std::nullopt;
            auto const seconds = number_in(word.substr(0, colon), 9'000'000'000);
            auto const devices = number_in(word.substr(colon + 1), 1'000'000);
            if (!seconds || !devices || *devices < 1) return std::nullopt;
            nanoseconds const at{*seconds * 1'000'000'000};
            if (out.empty() ? at.count != 0 : at <= out.back().at) return std::nullopt;
            out.push_back({at, *devices});
            text.remove_prefix(word.size());
            if (text.starts_with(' ')) text.remove_prefix(1);
        }
        return out.empty() ? std::nullopt : std::optional(std::move(out));
    }

    /// The schedule as in a trace.
    [[nodiscard]] std::string_view text() const noexcept { return text_; }
    /// The largest number of devices in it.
    [[nodiscard]] std::int64_t most_requested() const noexcept {
        std::int64_t most = 1;
        for (auto const& one : schedule_) most = one.devices > most ? one.devices : most;
        return most;
    }

    /// One step per second with any device.
    [[nodiscard]] speed_segment at(job_description const&, allocation const& held, double) const noexcept override {
        return {.steps_per_second = held.devices > 0 ? 1.0 : 0.0};
    }
    /// Policies see how many requests it can serve: as many times those of one device as it has devices.
    void show(job_description const&, double, std::uint32_t, std::int64_t, scaling const& out) const noexcept override {
        for (std::size_t n = 0; n < out.goodput.size(); ++n) out.goodput[n] = static_cast<double>(n);
        for (std::size_t n = 0; n < out.goodput_fixed.size(); ++n) out.goodput_fixed[n] = static_cast<double>(n);
        for (std::size_t n = 0; n < out.batch.size(); ++n) out.batch[n] = static_cast<std::int64_t>(n);
    }
    [[nodiscard]] bool makes_requests() const noexcept override { return true; }
    [[nodiscard]] std::int64_t requested(job_description const& job, double, nanoseconds now) const noexcept override {
        std::size_t i = schedule_.size();
        while (--i > 0)
            if (schedule_[i].at <= now - job.submitted) break;
        return schedule_[i].devices;
    }
    /// Exact. O(entries of the schedule).
    [[nodiscard]] request_gap gap_to_requests(job_description const& job, std::int64_t held, nanoseconds from,
                                              nanoseconds to) const noexcept override {
        request_gap gap;
        nanoseconds const start = from - job.submitted, stop = to - job.submitted;
        for (std::size_t i = 0; i < schedule_.size(); ++i) {
            nanoseconds const begin = schedule_[i].at;
            nanoseconds const end = i + 1 < schedule_.size() ? schedule_[i + 1].at : stop;
            nanoseconds const first = begin < start ? start : begin, last = stop < end ? stop : end;
            if (!(first < last)) continue;
            double const over = static_cast<double>(held - schedule_[i].devices) * to_seconds(last - first);
            (over > 0 ? gap.excess : gap.shortage) += over > 0 ? over : -over;
            if (over >= 0) gap.met += to_seconds(last - first);
        }
        return gap;
    }

private:
    [[nodiscard]] static std::optional<std::int64_t> number_in(std::string_view text, std::int64_t most) noexcept {
        std::int64_t value = 0;
        auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool const is_whole = !text.empty() && failed == std::errc{} && end == text.data() + text.size();
        return is_whole && value >= 0 && value <= most ? std::optional(value) : std::nullopt;
    }
};

}  // namespace ration::sim
