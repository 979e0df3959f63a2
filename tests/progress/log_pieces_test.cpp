// SPDX-License-Identifier: BSL-1.0
// A log in pieces, of which some are missing.
#include <string_view>
#include <vector>

#include <ration/progress/log_adapter.hpp>

#include "support.hpp"

namespace {

/// The losses of the lines that are read.
struct log_pieces {
    ration::progress::log_adapter adapter =
        ration::progress::log_adapter::make(R"(step (?<step>\d+) loss=(?<loss>\S+))", {7}, {2}).value();
    std::vector<double> losses{};

    std::size_t read_line(std::string_view bytes) {
        return adapter.feed_line(bytes, [&](auto const& update) { losses.push_back(update.body.loss_mean); });
    }
    void read(std::string_view bytes) {
        adapter.feed(bytes, [&](auto const& update) { losses.push_back(update.body.loss_mean); });
    }
};

}  // namespace

TEST_CASE("after missing bytes the rest of the line is not read") {
    log_pieces log;
    log.read("step 1 loss=1\nstep 2 lo");
    log.adapter.skip_line();
    log.read("3 step 7 loss=0.2\nstep 8 loss=4\n");
    CHECK(log.losses == std::vector<double>{1, 4});
    CHECK(log.adapter.counts().lines == 2);
}

TEST_CASE("lines can be read one at a time") {
    log_pieces log;
    std::string_view const text = "step 1 loss=1\nstep 2 loss=2\nstep 3";
    auto const first = log.read_line(text);
    CHECK(first == text.find('\n') + 1);
    CHECK(log.losses == std::vector<double>{1});
    CHECK(log.read_line(text.substr(2 * first)) == text.size() - 2 * first);
}
