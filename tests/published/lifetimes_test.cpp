// SPDX-License-Identifier: BSL-1.0
// The lifetimes of transient servers in the simulator are those of bench/data/cm-dare, and the page of the data has the
// same.
#include <cstdio>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <ration/sim/server_lifetimes.hpp>

#include "published/csv.hpp"
#include "support/catch.hpp"

using namespace ration::sim;
using Catch::Approx;

TEST_CASE("lifetimes: every hour of every region is as in the data", "[published]") {
    std::size_t rows = 0;
    for (auto const& row : published::rows_of_csv(RATION_BENCH_DATA "/cm-dare/lifetimes.csv")) {
        REQUIRE(row.size() == 5);
        auto const* const servers = find_transient_servers(row[0], row[1]);
        INFO(row[0] << ' ' << row[1] << " within " << row[3] << " h");
        REQUIRE(servers != nullptr);
        CHECK(servers->servers == std::stoul(row[2]));
        CHECK(servers->revoked.at(std::stoul(row[3]) - 1) == std::stoul(row[4]));
        ++rows;
    }
    CHECK(rows == std::size(transient_servers) * server_lifetime::hours);
}

TEST_CASE("lifetimes: the startup of a GPU's servers is the middle of both regions", "[published]") {
    std::map<std::string, std::map<std::string, std::vector<double>>> startups;  // by GPU and region
    for (auto const& row : published::rows_of_csv(RATION_BENCH_DATA "/cm-dare/startup.csv"))
        if (row.at(1) == "transient")
            startups[row.at(0)][row.at(2)].push_back(std::stod(row.at(3)) + std::stod(row.at(4)) +
                                                     std::stod(row.at(5)));
    CHECK(startups.size() == 2);
    for (auto const& [gpu, regions] : startups) {
        double sum = 0;
        for (auto const& [region, of] : regions)
            sum += std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size() * regions.size());
        CHECK(measured_startup(gpu) == Approx(sum).margin(0.05));
    }
}

TEST_CASE("lifetimes: the page of the data has every region", "[published]") {
    auto const page = published::text_of(RATION_BENCH_DATA "/cm-dare/README.md");
    for (auto const& servers : transient_servers) {
        char row[200];
        std::snprintf(row, sizeof row, "| %s | `%s` | %u | %.1f %% | %.1f %% | %.1f h |", servers.gpu.data(),
                      servers.region.data(), servers.servers, 100 * servers.revoked_within(1),
                      100 * servers.revoked_within(24), servers.mean() / 3600);
        INFO(row);
        CHECK(page.find(row) != std::string::npos);
    }
}
