// SPDX-License-Identifier: BSL-1.0
// The fused GRU step computes the states of the unfused one, with every tile.
#include "published/spatial_rnn.hpp"
#include "support/catch.hpp"

using namespace published;

TEST_CASE("fused GRU: every tile gives the states of the unfused step, also where the last tile is not full",
          "[published]") {
    // No tile but that of 4 units divides 20, and none divides 33
    for (std::size_t const width : {20, 33})
        for (std::size_t const batch : {1, 4}) {
            spatial_rnn::layer of(width, batch);
            for (auto const& tile : spatial_rnn::tiles_for(batch)) {
                if (tile.ahead > 0) continue;
                INFO(width << ", batch " << batch << ", tile " << spatial_rnn::text_of(tile));
                CHECK(spatial_rnn::error_of(tile, of) < 1e-5);
                CHECK(spatial_rnn::error_of(tile, of, true) < 1e-5);
            }
        }
}

TEST_CASE("fused GRU: the states change from step to step, so that equal ones are no accident", "[published]") {
    spatial_rnn::layer of(20, 2);
    unfused_gru baseline(of.weights);
    baseline.step(of.input, of.state);
    auto const first = of.state;
    baseline.step(of.input, of.state);
    float change = 0;
    for (std::size_t i = 0; i < first.flat().size(); ++i)
        change = std::max(change, std::abs(of.state.flat()[i] - first.flat()[i]));
    CHECK(change > 1e-3F);
}

TEST_CASE("tiles_for: the search space has each tile once, and none with more rows than the batch", "[published]") {
    CHECK(spatial_rnn::tiles_for(1).size() == 6 * 3 * 6);
    CHECK(spatial_rnn::tiles_for(3).size() == 6 * 3 * 2 * 6);
    CHECK(spatial_rnn::tiles_for(64).size() == 6 * 3 * 3 * 6);
}
