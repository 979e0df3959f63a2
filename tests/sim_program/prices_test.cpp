// SPDX-License-Identifier: BSL-1.0
// `ration sim --price`.
#include "program.hpp"
#include "sim/price_options.hpp"

using namespace simulate_test;

namespace {

/// Three jobs of 10, 20 and 30 s on one device each.
[[nodiscard]] ran priced(words more) {
    three_jobs const jobs;
    words all{"--trace", jobs.path(), "--cluster", "1x1:v100", "--policy", "fifo"};
    all.insert(all.end(), more.begin(), more.end());
    return ran(all);
}

[[nodiscard]] json cost_of(ran const& of) {
    return json::parse(table_json(of.results()))["policies"][0]["figures"]["cost"];
}

}  // namespace

TEST_CASE("--price: what is not a price earns one sentence") {
    for (std::string const wrong : {"", "v100", "=1", "v100=", "v100=x", "v100=-1", "v100=nan", "v100=inf", "v100=1,",
                                    "v100=1,2,3", "v100=1,x", "v100=1000001", "v100=1e400", "v100 =1 "})
        CHECK(refusal({"--generate", "rigid", "--cluster", "1x1:v100", "--policy", "fifo", "--price", wrong}) ==
              "ration: --price: '" + wrong +
                  "' is not a price: write TYPE=ON_DEMAND or TYPE=ON_DEMAND,TRANSIENT, as in v100=2.48,0.74, with "
                  "numbers from 0 to 1000000 for an hour of a device");
    CHECK(priced({"--price", "v10=2"}).problem() ==
          "--price: --cluster has no devices of type 'v10'; did you mean 'v100'?");
    CHECK(priced({"--price", "v100=2", "--price", "v100=3"}).problem() ==
          "--price: 'v100' has two prices: name one of them");
    CHECK(ran({"--generate", "rigid:jobs=3", "--cluster", "1x1:a,1x1:b", "--policy", "fifo", "--price", "a=1"})
              .problem() == "--price: devices of type 'b' have no price: add --price b=PRICE");
    CHECK(priced({"--price", "v100=2", "--faults", "revocations:region=us-west1"}).problem() ==
          "--price: nodes with revocations are transient servers, and v100 has no price of these: write v100=2,PRICE");
}

TEST_CASE("--price: the cost is that of all device-hours, and transient servers have their own price") {
    // 60 device-seconds at 36 an hour
    auto const cost = cost_of(priced({"--price", "v100=36"}));
    CHECK(cost["mean"].get<double>() == Approx(0.6));
    CHECK(cost_of(priced({"--price", "v100=36,9"}))["mean"].get<double>() == Approx(0.6));
    CHECK(cost_of(priced({"--price", "v100=36,9", "--faults", "revocations:region=us-west1", "--seeds", "1"}))["mean"]
              .get<double>() == Approx(0.15));
    CHECK(cost_of(priced({}))["mean"].is_null());
    ran const shown = priced({"--price", "v100=36,9"});
    auto const results = shown.results();
    CHECK(json::parse(table_json(results))["prices"] == json::array({"v100=36,9"}));
    CHECK(table_text(results).find("\ncost ") != std::string::npos);
    CHECK(report_html(results).find("cost") != std::string::npos);
}

TEST_CASE("--price: revocations repeat work, which costs too") {
    words const asked{"--generate", "rigid:jobs=40,per_hour=40", "--cluster", "4x4", "--policy", "fifo", "--seeds",
                      "2"};
    auto const cost = [&](words more) {
        more.insert(more.begin(), asked.begin(), asked.end());
        ran const of(more);
        REQUIRE(of.problems.empty());
        return cost_of(of)["mean"].get<double>();
    };
    double const calm = cost({"--price", "gpu=1,1"});
    double const revoked =
        cost({"--price", "gpu=1,1", "--faults", "revocations:region=us-east1", "--checkpoint", "6h"});
    CHECK(revoked > 1.01 * calm);
    CHECK(cost({"--price", "gpu=1,0.3", "--faults", "revocations:region=us-east1", "--checkpoint", "6h"}) ==
          Approx(0.3 * revoked));
}
