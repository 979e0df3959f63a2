// SPDX-License-Identifier: BSL-1.0
/// The launch of one job with its devices: ordered, made, verified by the hello of the job, settled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "run/resize_state.hpp"

namespace ration::program {

class resize_launch {
    enum class stage : std::uint8_t { ordered, made, received, verified };  // received: a report of rank 0

    resize_state& state_;
    stage stage_ = stage::ordered;
    int failed_starts_ = 0;  // in a row, without an old size

public:
    explicit resize_launch(resize_state& state) noexcept : state_(state) {}

    void order(nanoseconds now);
    /// A launch is ordered and not made yet.
    [[nodiscard]] bool is_awaited() const noexcept;
    /// Rank 0 has sent its hello, or a step, since the launch.
    [[nodiscard]] bool has_reported() const noexcept { return stage_ >= stage::received; }

    // --- Events
    /// Before the ordered launch: replaces devices that were cordoned meanwhile by free ones. Without any device the
    /// job is queued.
    void replace_cordoned(nanoseconds now);
    /// The ordered launch has been made; its deadline counts from now.
    void made(nanoseconds now);
    void failed(std::string why, nanoseconds now);
    /// The hello of rank 0. `devices`: the devices that it reports, comma-separated; empty: none reported.
    void hello(bool takes_commands, std::uint32_t world, std::string_view devices, nanoseconds now);
    /// The hello of another rank. It may report fewer devices than the job has, but no others.
    void hello_of(std::uint32_t rank, std::string_view devices, nanoseconds now);
    void stepped(nanoseconds now);
    /// The deadline has passed.
    void time_out(nanoseconds now);
    /// The process has ended before it settled. Whether another launch follows: with the old devices, or, for a job
    /// that has trained before, one of three more tries.
    [[nodiscard]] bool ended(std::string why, nanoseconds now);

private:
    void settle();
    void reject(std::string why, nanoseconds now);
    [[nodiscard]] bool is_at_work() const noexcept;
    [[nodiscard]] std::string wrong_world(std::uint32_t world) const;
    [[nodiscard]] std::string wrong_devices(std::string_view devices) const;
};

}  // namespace ration::program
