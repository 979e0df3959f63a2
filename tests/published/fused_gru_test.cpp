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

TEST_CASE("measured_median: the narrowest interval of 93 %, and claims that it leaves open", "[published]") {
    struct {
        std::size_t values, low, high;
    } const all[] = {{1, 0, 0}, {4, 0, 3}, {5, 0, 4}, {8, 0, 7}, {9, 1, 7}, {11, 2, 8}, {31, 9, 21}};
    for (auto const& one : all) {
        std::vector<double> values;
        for (std::size_t i = one.values; i-- > 0;) values.push_back(static_cast<double>(i));
        measured_median const of(values);
        INFO(one.values);
        CHECK(of.median == static_cast<double>(one.values - 1) / 2);
        CHECK((of.low == static_cast<double>(one.low) && of.high == static_cast<double>(one.high)));
    }
    measured_median const of({1.4, 1.6, 2});
    CHECK((of.at_least(1.4) == verdict::holds && of.at_least(1.5) == verdict::open &&
           of.at_least(2.1) == verdict::fails));
    CHECK((of.at_most(2) == verdict::holds && of.at_most(1.5) == verdict::open && of.at_most(1.3) == verdict::fails));
    findings found;
    found.expect(of.at_least(1.5), "open");
    CHECK(conclude(found) == 0);
    found.expect(of.at_least(2.1), "false");
    CHECK(conclude(found) == 1);
}

TEST_CASE("ratio_of: pairs begin with the one and the other in turn", "[published]") {
    std::string order;
    auto const ratio = spatial_rnn::ratio_of(
        [&] {
            order += 'a';
            return 3.0;
        },
        [&] {
            order += 'b';
            return 2.0;
        },
        4);
    CHECK(order == "abbaabba");
    CHECK((ratio.median == 1.5 && ratio.low == 1.5 && ratio.high == 1.5));
}
