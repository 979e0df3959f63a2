// SPDX-License-Identifier: BSL-1.0
/// The live view as a pure function: what is known in, text out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/target.hpp>
#include <ration/units.hpp>

#include "events/events.hpp"

namespace ration::program {

/// One job as the view shows it.
struct job_view {
    std::string name;
    condition now = condition::waiting;
    std::string detail;                    ///< shown after the condition: "exit code 1", "for 65 s"
    std::optional<nanoseconds> starts_in;  ///< while waiting

    std::string metric;
    direction improves = direction::down;
    std::optional<double> first, value;  ///< first and present smoothed value; none before the first report
    std::optional<double> acceptable, objective;
    std::uint32_t tier = 0;  ///< reached: 0, 1 = Acceptable, 2 = Objective; with a level, 1 = it holds
    /// The bound of its level, and the parts of the last window and of the time since its first value in which it held
    std::optional<double> level{}, window_met{}, level_met{};

    std::optional<millicores> held;                 ///< none: holds nothing; `unlimited`: no limit
    std::optional<std::int64_t> devices, going_to;  ///< that it has, and is to have; none: it has no use for any
    double used = 0;                                ///< cores, measured
    std::optional<std::int64_t> array_index{};      ///< of a job of an array
};

struct view_model {
    std::string policy, backend;
    nanoseconds elapsed;
    std::uint32_t cpus = 0;  ///< that the jobs share
    double used = 0;         ///< cores, all jobs together
    std::int64_t devices = 0, devices_held = 0, cordoned_devices = 0;
    std::vector<job_view> jobs;
    std::string notice;  ///< the last line: "Ctrl-C again kills the jobs", or empty
};

struct view_style {
    bool unicode = true;
    bool colour = true;
};

/// From the environment: LC_ALL, LC_CTYPE, LANG (the first that is set decides) and NO_COLOR, TERM=dumb.
[[nodiscard]] view_style style_of_environment() noexcept;

/// Text for a screen: a head line, titles, a line for each job with a bar towards its tiers or of the window in
/// which its level held, the notice. Columns that
/// do not fit go in this order: tier, value, share. Lines, each ended by '\n', none wider than `width` columns, at most
/// `height` of them, with no escape sequences but SGR. Jobs that do not fit are counted in words, those that are over
/// first.
[[nodiscard]] std::string render(view_model const& model, std::uint32_t width, std::uint32_t height, view_style style);

/// How far from `first` to `goal`, 0 to 1: the length of a bar.
[[nodiscard]] double fraction_of_way(double first, double value, double goal) noexcept;

/// One sentence without newline for an event that is worth a line of text; empty for the others.
[[nodiscard]] std::string plain_line(event const& e);

/// One line without newline: "[ 1:05] vae loss 121.3, holds 0.50, uses 0.49; mlp ...".
[[nodiscard]] std::string status_line(view_model const& model);

}  // namespace ration::program
