// SPDX-License-Identifier: BSL-1.0
// AI4DL: phases save memory where they repeat, and nothing in random order.
#include <string>

#include "page.hpp"
#include "published/ai4dl_scenario.hpp"

TEST_CASE("AI4DL: limits by phases where they repeat, and controls; results.md has these tables and no others",
          "[published]") {
    auto const found = published::ai4dl_scenario(RATION_BENCH_DATA);
    published_test::check_all(found);
    CHECK(published_test::table_lines(published_test::section("AI4DL")) == published_test::table_lines(found.table()));
}
