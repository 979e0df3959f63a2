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

namespace {

/// What `write_distribution` writes of any distribution. `quantile(part)` in seconds; `each(visit)` calls
/// visit(seconds, number) in ascending order.
template <class Quantile, class Each>
void write_filled(json_writer& json, double mean, Quantile const& quantile, Each const& each) {
    json.member("mean", six_digits(mean));
    std::vector<double> quantiles;
    for (int i = 0; i <= 100; ++i) quantiles.push_back(quantile(i / 100.0));
    write_numbers(json, "quantiles", quantiles);
    int const first = bin_of(quantiles.front());
    std::vector<std::size_t> counts(static_cast<std::size_t>(bin_of(quantiles.back()) - first) + 1);
    each([&](double seconds, std::size_t number) {
        counts[static_cast<std::size_t>(bin_of(seconds) - first)] += number;
    });
    json.key("bins").object([&] {
        json.member("per_decade", bins_per_decade);
        json.member("first", first);
        json.key("counts").array([&] {
            for (auto const count : counts) json.value(count);
        });
    });
}

}  // namespace

void write_distribution(json_writer& json, std::string_view name, std::vector<double> seconds, std::size_t of) {
    std::ranges::sort(seconds);
    json.key(name).object([&] {
        json.member("of", of);
        json.member("reached", seconds.size());
        if (seconds.empty()) return;
        write_filled(
            json, sim::mean_of(seconds), [&](double part) { return sim::quantile(seconds, part); },
            [&](auto const& visit) {
                for (double const s : seconds) visit(s, 1);
            });
    });
}

void write_distribution(json_writer& json, std::string_view name, sim::time_distribution const& times, std::size_t of) {
    json.key(name).object([&] {
        json.member("of", of);
        json.member("reached", times.size());
        if (times.size() == 0) return;
        write_filled(
            json, times.mean(), [&](double part) { return times.quantile(part); },
            [&](auto const& visit) { times.each(visit); });
    });
}

}  // namespace ration::program
