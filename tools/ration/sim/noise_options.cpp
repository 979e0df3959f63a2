// SPDX-License-Identifier: BSL-1.0
#include "sim/noise_options.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>

#include <ration/column.hpp>

#include "common/printable.hpp"

namespace ration::program {
namespace {

constexpr std::string_view jobs_table = "jobs/";
constexpr double most_sigma = 10;

[[nodiscard]] std::vector<std::string_view> prediction_names() {
    std::vector<std::string_view> out;
    for (auto const column : sim::predicted_columns) out.push_back(column.substr(jobs_table.size()));
    return out;
}

[[nodiscard]] diagnostic not_predicted(std::string_view name) {
    bool const exists = index_in_catalogue(std::string(jobs_table).append(name)) < catalogue_size;
    return {.text = fmt::format("{} {}; choose a prediction: {}", quoted(name),
                                exists ? "is exact in a simulation, which counts it or takes it from the trace"
                                       : "is not a column of jobs",
                                fmt::join(prediction_names(), ", "))};
}

}  // namespace

result<void, diagnostic> add_noise(std::string_view text, sim::prediction_noise& into) {
    std::size_t const equals = std::min(text.find('='), text.size());
    auto const name = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
    auto const column = sim::prediction_named(std::string(jobs_table).append(name));
    if (column == sim::number_of_predictions) return not_predicted(name);
    double sigma = 0;
    auto const [end, failed] = std::from_chars(value.data(), value.data() + value.size(), sigma);
    if (failed != std::errc{} || end != value.data() + value.size() || !(sigma >= 0 && sigma <= most_sigma))
        return diagnostic{.text =
                              fmt::format("{} is not a standard deviation of {}; write a number from 0 to {}, as in "
                                          "{}=0.5",
                                          quoted(value), name, most_sigma, name)};
    into.set(column, sigma);
    return {};
}

std::vector<std::string> noise_words(sim::prediction_noise const& noise) {
    std::vector<std::string> words;
    auto const all = prediction_names();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (noise.sigma(i) > 0) words.push_back(fmt::format("{}={}", all[i], noise.sigma(i)));
    return words;
}

}  // namespace ration::program
