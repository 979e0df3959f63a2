// SPDX-License-Identifier: BSL-1.0
#include "sim/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include <ration/sim/summary.hpp>

namespace ration::program {

int bin_of(double seconds) noexcept {
    if (!(seconds > 0)) return first_bin;
    double const k = std::floor(std::log10(seconds) * bins_per_decade);
    return static_cast<int>(std::clamp(k, static_cast<double>(first_bin), static_cast<double>(last_bin)));
}

double six_digits(double value) {
    if (!std::isfinite(value)) return value;
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

void write_numbers(json_writer& json, std::string_view name, std::vector<double> const& values) {
    json.key(name).array([&] {
        for (double const v : values)
            if (std::isnan(v))
                json.null();
            else if (std::isinf(v))
                json.value("unlimited");
            else
                json.value(six_digits(v));
    });
}

void write_distribution(json_writer& json, std::string_view name, std::vector<double> seconds, std::size_t of) {
    std::ranges::sort(seconds);
    json.key(name).object([&] {
        json.member("of", of);
        json.member("reached", seconds.size());
        if (seconds.empty()) return;
        json.member("mean", six_digits(sim::mean_of(seconds)));
        std::vector<double> quantiles;
        for (int i = 0; i <= 100; ++i) quantiles.push_back(sim::quantile(seconds, i / 100.0));
        write_numbers(json, "quantiles", quantiles);
        int const first = bin_of(seconds.front());
        std::vector<std::size_t> counts(static_cast<std::size_t>(bin_of(seconds.back()) - first) + 1);
        for (double const s : seconds) ++counts[static_cast<std::size_t>(bin_of(s) - first)];
        json.key("bins").object([&] {
            json.member("per_decade", bins_per_decade);
            json.member("first", first);
            json.key("counts").array([&] {
                for (auto const count : counts) json.value(count);
            });
        });
    });
}

}  // namespace ration::program
