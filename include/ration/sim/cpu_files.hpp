// SPDX-License-Identifier: BSL-1.0
/// Reads fitted loss curves from bench/data/loss/fits.csv. The README there defines the columns.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/cpu_model.hpp>
#include <ration/sim/diagnostic.hpp>
#include <ration/sim/model_library.hpp>
#include <ration/sim/trace/scanner.hpp>

namespace ration::sim {

/// Reads models of jobs that run on one core and need no device. Their usual length is the number
/// of steps to the Objective, or the recorded number if the curve does not reach it. The error
/// names the line. O(text).
[[nodiscard]] inline result<model_library, diagnostic> read_cpu_models(std::string_view text) {
    constexpr std::array<std::string_view, 14> titles{
        "name",       "batch",     "floor",      "power", "power_steps",
        "exponent",   "fast",      "fast_steps", "noise", "steps_per_core_second",
        "acceptable", "objective", "steps",      "error"};
    trace::row_scanner rows(text, ',');
    model_library library;
    if (!rows.next() || !std::equal(titles.begin(), titles.end(), rows.fields().begin(), rows.fields().end()))
        return diagnostic{
            .line = 1,
            .text =
                "the columns have to be name,batch,floor,power,power_steps,exponent,fast,fast_steps,noise,steps_per_core_second,acceptable,"
                "objective,steps,error"};
    while (rows.next()) {
        auto const fields = rows.fields();
        std::array<double, 14> n{};
        bool right = fields.size() == titles.size() && !fields[0].empty() && find_model(library, fields[0]) == nullptr;
        for (std::size_t i = 1; right && i < titles.size(); ++i)
            right = trace::to_number(fields[i], n[i]) && n[i] >= 0 && n[i] <= 1e12;
        if (!right || n[1] < 1 || n[4] <= 0 || n[7] <= 0 || n[9] <= 0 || n[11] > n[10] || n[12] < 1)
            return diagnostic{
                .line = rows.line(),
                .text =
                    "a row has a unique name and thirteen numbers from 0 to 1e12; batch, speed and steps above 0, and an "
                    "Objective that is not above Acceptable"};
        loss_curve const curve{
            .floor = n[2], .power = n[3], .power_steps = n[4], .exponent = n[5], .fast = n[6], .fast_steps = n[7]};
        // Such a job would be at its Objective before its first step.
        if (curve.at(0) <= n[11])
            return diagnostic{.line = rows.line(), .text = "this curve begins below its Objective; write a harder one"};
        double const reached = std::ceil(curve.step_at(n[11])), length = reached < 1e12 ? reached : n[12];
        auto model = std::make_shared<cpu_model>(curve, n[9], 1.0, n[8], std::vector<double>{n[10], n[11]});
        job_description const usual{
            .request = 0, .least = 0, .most = 0, .batch = static_cast<std::int64_t>(n[1]), .length = length};
        library.push_back({.name = std::string(fields[0]), .model = std::move(model), .usual = usual});
    }
    if (rows.wrong() != nullptr) return diagnostic{.line = rows.line(), .text = rows.wrong()};
    return library;
}

}  // namespace ration::sim
