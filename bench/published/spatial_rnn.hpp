// SPDX-License-Identifier: BSL-1.0
// Spatial RNN: a GRU step in fused loops, whose tile a search finds, beside products and passes over memory.
// Source: T. Zhao, Y. Zhang, K. Olukotun, "Serving Recurrent Neural Networks Efficiently with a Spatial Accelerator",
// MLSys 2019.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <ration/host/rng_sequence.hpp>

#include "findings.hpp"
#include "fused_gru.hpp"
#include "measure/successive_halving.hpp"

namespace published {

struct spatial_rnn_scale {
    std::vector<std::size_t> widths{256, 500, 1024};  ///< 500 is not a multiple of most tiles
    double run_seconds = 0.02;                        ///< CPU time of one run of a setting
    std::uint32_t pairs = 31;                         ///< of runs in each final comparison
    std::size_t control_batch = 64;                   ///< the smaller it is, the less of the gain vanishes
    std::uint64_t seed = 1;
};

namespace spatial_rnn {

constexpr std::uint32_t exhaustive_repeat = 3;

/// A layer with its input and state, and its weights packed for each number of units.
struct layer {
    gru_weights weights;
    trainers::matrix<float> input, state;
    std::map<std::size_t, packed_gru_weights> packed{};

    layer(std::size_t width, std::size_t batch)
        : weights{width, {width, 3 * width}, {width, 3 * width}, std::vector<float>(3 * width), {}},
          input(batch, width), state(batch, width) {
        weights.state_bias.resize(3 * width);
        ration::rng_sequence random(width);
        for (std::span<float> const each : {weights.from_input.flat(), weights.from_state.flat(),
                                            std::span(weights.input_bias), std::span(weights.state_bias), input.flat()})
            for (float& value : each) value = (static_cast<float>(random.below(2001)) - 1000) / 12000;
    }

    [[nodiscard]] packed_gru_weights const& packed_for(std::size_t units) {
        return packed.try_emplace(units, weights, units).first->second;
    }
};

/// All tiles that fit the batch. The first is a plain one, the present setting of the search.
[[nodiscard]] inline std::vector<gru_tile> tiles_for(std::size_t batch) {
    std::vector<gru_tile> all{{.units = 4}};
    for (std::size_t const units : {4, 8, 12, 16, 24, 32})
        for (std::size_t const unroll : {1, 2, 4})
            for (std::size_t const rows : {1, 2, 4})
                for (std::size_t const ahead : {0, 256, 512, 1024, 2048, 4096})
                    if (rows <= batch && (units > 4 || unroll > 1 || rows > 1 || ahead > 0))
                        all.push_back({units, unroll, rows, ahead});
    return all;
}

[[nodiscard]] inline double cpu_seconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Steps per second of CPU time, so that other programs on the core do not count.
template <class Gru>
[[nodiscard]] double speed_of(Gru&& gru, layer& of, double seconds) {
    gru.step(of.input, of.state);
    double const begin = cpu_seconds();
    double end = begin, steps = 0;
    for (; end - begin < seconds; end = cpu_seconds(), ++steps) gru.step(of.input, of.state);
    return steps / (end - begin);
}

[[nodiscard]] inline double speed_of(gru_tile const& tile, layer& of, double seconds, bool separate = false) {
    return speed_of(fused_gru(of.packed_for(tile.units), tile, separate), of, seconds);
}

[[nodiscard]] inline double median(std::vector<double> const& values) { return over_seeds(values).median; }

/// The largest difference of any state to the unfused one after five steps.
[[nodiscard]] inline double error_of(gru_tile const& tile, layer& of, bool separate = false) {
    trainers::matrix<float> expected(of.state.rows(), of.state.columns()), found = expected;
    unfused_gru reference(of.weights);
    fused_gru fused(of.packed_for(tile.units), tile, separate);
    double worst = 0;
    for (int step = 0; step < 5; ++step) {
        reference.step(of.input, expected);
        fused.step(of.input, found);
    }
    for (std::size_t i = 0; i < found.flat().size(); ++i)
        worst = std::max(worst, static_cast<double>(std::abs(found.flat()[i] - expected.flat()[i])));
    return worst;
}

struct search_outcome {
    gru_tile tile{};
    std::size_t runs = 0;
};

/// The search of `ration measure tune`, with a third of the runs of an exhaustive one. It begins with a random half of
/// the tiles: a tenth of the runs suffices for a random sixth, which may lack all good tiles.
[[nodiscard]] inline search_outcome search(layer& of, std::vector<gru_tile> const& tiles, spatial_rnn_scale const& at) {
    std::size_t const most = tiles.size() * exhaustive_repeat / 3;
    ration::program::successive_halving halving(tiles.size(), {.seed = at.seed, .runs = most});
    while (auto const next = halving.next()) halving.add(speed_of(tiles[*next], of, at.run_seconds));
    return {tiles[halving.ranking().front().index], halving.runs()};
}

/// The tiles of an exhaustive search.
struct exhaustive_outcome {
    gru_tile best{}, middle{};  ///< half of the tiles are slower than the middle one
    std::size_t runs = 0;
};

/// Every tile, by the median of its runs in turns.
[[nodiscard]] inline exhaustive_outcome exhaust(layer& of, std::vector<gru_tile> const& tiles,
                                                spatial_rnn_scale const& at) {
    std::vector<std::vector<double>> speeds(tiles.size());
    for (std::uint32_t round = 0; round < exhaustive_repeat; ++round)
        for (std::size_t i = 0; i < tiles.size(); ++i) speeds[i].push_back(speed_of(tiles[i], of, at.run_seconds));
    std::vector<std::size_t> order(tiles.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return median(speeds[i]); });
    return {tiles[order.back()], tiles[order[order.size() / 2]], tiles.size() * exhaustive_repeat};
}

/// The ratio of two speeds that are measured in pairs, each of which begins with the other one. Drift of the machine
/// affects both alike, and neither was chosen by these runs.
template <class First, class Second>
[[nodiscard]] measured_median ratio_of(First const& first, Second const& second, std::uint32_t pairs) {
    std::vector<double> ratios;
    for (std::uint32_t pair = 0; pair < pairs; ++pair) {
        double one = 0, other = 0;
        if (pair % 2 == 0) one = first();
        other = second();
        if (pair % 2 == 1) one = first();
        ratios.push_back(one / other);
    }
    return measured_median(std::move(ratios));
}

/// Speeds of a tile, relative to steps without fusion.
struct comparison {
    measured_median to_unfused, to_separate;
};

[[nodiscard]] inline comparison compare(layer& of, gru_tile const& tile, spatial_rnn_scale const& at) {
    unfused_gru baseline(of.weights);
    auto const fused = [&] { return speed_of(tile, of, at.run_seconds); };
    return {ratio_of(
                fused, [&] { return speed_of(baseline, of, at.run_seconds); }, at.pairs),
            ratio_of(fused, [&] { return speed_of(tile, of, at.run_seconds, true); }, at.pairs)};
}

[[nodiscard]] inline measured_median compare(layer& of, gru_tile const& tile, gru_tile const& other,
                                             spatial_rnn_scale const& at) {
    auto const speed = [&](gru_tile const& which) { return [&] { return speed_of(which, of, at.run_seconds); }; };
    return ratio_of(speed(tile), speed(other), at.pairs);
}

[[nodiscard]] inline std::string text_of(gru_tile const& tile) {
    return std::to_string(tile.units) + ", " + std::to_string(tile.unroll) + ", " + std::to_string(tile.rows) + ", " +
           std::to_string(tile.ahead);
}

constexpr auto row_format = "| %zu | %zu | %s | %zu of %zu | %s | %s | %s | %s |\n";

/// One sample at a time, where a product of matrices packs weights that it uses once.
inline void batch_of_one(findings& found, spatial_rnn_scale const& at) {
    verdict gains = verdict::holds, is_close = verdict::holds, is_far = verdict::fails;
    double error = 0;
    bool is_short = true;
    for (auto const width : at.widths) {
        layer of(width, 1);
        auto const tiles = tiles_for(1);
        auto const quick = search(of, tiles, at);
        auto const full = exhaust(of, tiles, at);
        auto const ratio = compare(of, quick.tile, at);
        auto const found_to_best = compare(of, quick.tile, full.best, at);
        auto const middle_to_best = compare(of, full.middle, full.best, at);
        gains = std::min(gains, ratio.to_unfused.at_least(1.3));
        is_close = std::min(is_close, found_to_best.at_least(0.9));
        is_far = std::max(is_far, middle_to_best.at_most(0.9));
        is_short = is_short && 3 * quick.runs <= full.runs;
        for (auto const& tile : tiles)
            if (tile.ahead == 0) error = std::max({error, error_of(tile, of), error_of(tile, of, true)});
        found.print(row_format, width, std::size_t{1}, text_of(quick.tile).c_str(), quick.runs, full.runs,
                    ratio.to_unfused.text().c_str(), ratio.to_separate.text().c_str(), found_to_best.text().c_str(),
                    middle_to_best.text().c_str());
    }
    found.expect(error < 1e-5, "all tiles compute the states of the unfused step within 1e-5");
    found.expect(gains, "batch 1: the fused step is at least 1.3 times as fast with each width");
    found.expect(is_close, "the tile of the search is within 10 % of that of an exhaustive one");
    found.expect(is_far, "control: the middle one of all tiles is not, with one width at least");
    found.expect(is_short, "the search needs at most a third of its runs");
}

/// Many samples share each weight that the baseline packs, so that the gain has to vanish.
inline void large_batch(findings& found, spatial_rnn_scale const& at) {
    layer of(256, at.control_batch);
    auto const tiles = tiles_for(at.control_batch);
    auto const quick = search(of, tiles, at);
    auto const ratio = compare(of, quick.tile, at);
    double const error = error_of(quick.tile, of);
    found.print(row_format, std::size_t{256}, at.control_batch, text_of(quick.tile).c_str(), quick.runs,
                tiles.size() * exhaustive_repeat, ratio.to_unfused.text().c_str(), ratio.to_separate.text().c_str(),
                "-", "-");
    found.expect(error < 1e-5, "control: the states are those of the unfused step within 1e-5");
    found.expect(ratio.to_unfused.at_most(1.5), "control: at batch 64 at most 1.5 of the gain remains");
    found.expect(ratio.to_separate.at_most(1.1), "control: at batch 64 fusion alone gains at most 10 %");
}

}  // namespace spatial_rnn

[[nodiscard]] inline findings spatial_rnn_scenario(spatial_rnn_scale const& scale = {}) {
    findings found;
    found.print(
        "| width | batch | tile: units, unroll, rows, ahead | runs | : unfused | : separate passes | : best | middle : "
        "best |\n"
        "|--:|--:|---|--:|--:|--:|--:|--:|\n");
    spatial_rnn::batch_of_one(found, scale);
    spatial_rnn::large_batch(found, scale);
    return found;
}

}  // namespace published
