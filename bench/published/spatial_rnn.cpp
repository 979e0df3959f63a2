// SPDX-License-Identifier: BSL-1.0
// A GRU step in fused loops with a tile from a search: see spatial_rnn.hpp.
//
//     bench.published.spatial_rnn                                            all figures and claims
//     bench.published.spatial_rnn --job WIDTH UNITS UNROLL ROWS AHEAD BATCH  steps without an end, as a job of
//     jobs.toml bench.published.spatial_rnn --control-batch N                          a smaller N breaks the control
#include "spatial_rnn.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

namespace {

constexpr std::size_t not_a_number = SIZE_MAX;

[[nodiscard]] std::size_t number_of(std::string_view word) {
    std::size_t value = 0;
    auto const [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
    return failure == std::errc() && end == word.data() + word.size() && value <= 65536 ? value : not_a_number;
}

[[nodiscard]] int fail() {
    std::fputs(
        "spatial_rnn: unknown arguments; write --job WIDTH UNITS UNROLL ROWS AHEAD BATCH, with a tile of "
        "fused_gru.hpp, or --control-batch N with N from 1 to 64\n",
        stderr);
    return 2;
}

/// Reports its step every 10 ms, in the form that the key `log` of jobs.toml reads.
[[nodiscard]] int run_job(std::span<char*> words) {
    std::size_t numbers[6];
    if (words.size() != 6) return fail();
    for (std::size_t i = 0; i < 6; ++i) {
        numbers[i] = number_of(words[i]);
        if (numbers[i] == not_a_number) return fail();
    }
    auto const [width, units, unroll, rows, ahead, batch] = numbers;
    auto const tiles = published::spatial_rnn::tiles_for(batch);
    auto const is_known = [&](published::gru_tile const& tile) {
        return tile.units == units && tile.unroll == unroll && tile.rows == rows;
    };
    if (width == 0 || batch % std::max<std::size_t>(rows, 1) != 0 || !std::ranges::any_of(tiles, is_known))
        return fail();
    published::spatial_rnn::layer of(width, batch);
    published::fused_gru fused(of.packed_for(units), {units, unroll, rows, ahead});
    double reported = published::spatial_rnn::cpu_seconds();
    for (std::uint64_t step = 1;; ++step) {
        fused.step(of.input, of.state);
        if (double const now = published::spatial_rnn::cpu_seconds(); now - reported > 0.01) {
            std::printf("step=%llu loss=1\n", static_cast<unsigned long long>(step));
            std::fflush(stdout);
            reported = now;
        }
    }
}

}  // namespace

int main(int count, char** words) {
    std::span<char*> const arguments(words + 1, static_cast<std::size_t>(count - 1));
    if (arguments.empty()) return published::conclude(published::spatial_rnn_scenario());
    if (std::string_view(arguments.front()) == "--job") return run_job(arguments.subspan(1));
    auto const batch = arguments.size() == 2 ? number_of(arguments[1]) : not_a_number;
    if (std::string_view(arguments.front()) != "--control-batch" || batch == 0 || batch > 64) return fail();
    return published::conclude(published::spatial_rnn_scenario({.control_batch = batch}));
}
