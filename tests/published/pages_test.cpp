// SPDX-License-Identifier: BSL-1.0
// The scenarios that take minutes, in full: bench/published/results.md has the tables that they print. The test
// published/pages asks for them by their tag; the test published leaves them out.
#include <algorithm>

#include "page.hpp"
#include "published/elastic.hpp"
#include "published/ffdl.hpp"
#include "published/virtual_cluster.hpp"

namespace {

/// The page may have more tables in that section, as that of a trace that is not part of the project.
void check_page(published::findings const& found, std::string const& heading) {
    published_test::check_all(found);
    auto const page = published_test::table_lines(published_test::section(heading));
    for (auto const& line : published_test::table_lines(found.table())) {
        INFO(line);
        CHECK(std::find(page.begin(), page.end(), line) != page.end());
    }
}

}  // namespace

TEST_CASE("FfDL in full prints the tables of results.md", "[.pages]") {
    check_page(published::ffdl_scenario(), "FfDL");
}

TEST_CASE("elastic batches in full print the tables of results.md", "[.pages]") {
    check_page(published::elastic_scenario(), "Elastic batches");
}

TEST_CASE("VirtualCluster in full prints the table of results.md", "[.pages]") {
    check_page(published::virtual_cluster_scenario(), "VirtualCluster");
}
