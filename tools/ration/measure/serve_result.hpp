// SPDX-License-Identifier: BSL-1.0
/// The figures of `ration measure serve`: what servers sustain alone, and two of them together.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/statistics.hpp"
#include "measure/load_ramp.hpp"

namespace ration::program {

/// The rates that two servers sustain together in one round.
struct shared_point {
    double fixed = 0;   ///< requests per second of the first server, a share of its rate when alone
    double ramped = 0;  ///< of the second one
};

/// The first server is held at these parts of its rate when alone.
inline constexpr std::array fixed_shares{0.25, 0.5, 0.75};

struct serve_round {
    std::vector<load_pass> alone;        ///< by server
    std::vector<shared_point> together;  ///< by `fixed_shares`; empty with one server
};

struct serve_result {
    std::string file;
    std::vector<std::string> jobs;  ///< one or two
    double limit = 0;               ///< seconds
    std::vector<serve_round> rounds;
};

/// The dedicated machines that serve what one shared machine serves: the sum of both parts.
[[nodiscard]] double dedicated_machines(serve_round const& round, std::size_t share) noexcept;
/// 1 - 1 / `dedicated_machines` over the rounds.
[[nodiscard]] interval_figure saving_of(serve_result const& all, std::size_t share);

[[nodiscard]] std::string serve_text(serve_result const& all);
/// One line, without its end.
[[nodiscard]] std::string serve_json(serve_result const& all);

}  // namespace ration::program
