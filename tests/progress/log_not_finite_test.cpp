// SPDX-License-Identifier: BSL-1.0
// Values of a log that are not finite.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ration/progress/log_adapter.hpp>

#include "support.hpp"

TEST_CASE("NaN and infinities are counted and kept, however they are spelt", "[log]") {
    constexpr double endless = std::numeric_limits<double>::infinity();
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    auto const is_same = [](double a, double b) { return a == b || (a != a && b != b); };
    std::pair<double, std::vector<std::string>> const spellings[] = {{unknown, {"nan", "NaN", "NAN", "-nan"}},
                                                                     {endless, {"inf", "+inf", "Infinity", "1e999"}},
                                                                     {-endless, {"-inf", "-Infinity", "-1e999"}}};
    for (auto const& [value, words] : spellings)
        for (auto const& word : words) {
            INFO(word);
            auto log =
                ration::progress::log_adapter::make(R"(loss=(?<loss>\S+)|acc=(?<accuracy>\S+))", {7}, {2}).value();
            std::vector<ration::progress::report> reports;
            log.feed("loss=" + word + "\nacc=" + word + "\n",
                     [&](auto const& update) { reports.push_back(update.body); });
            REQUIRE(reports.size() == 2);
            CHECK((reports[0].non_finite == 1 && reports[0].loss_count == 0 && reports[1].non_finite == 1));
            CHECK((is_same(reports[0].loss_mean, value) && is_same(reports[1].value, value)));
        }
}
