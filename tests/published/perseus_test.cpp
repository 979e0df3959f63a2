// SPDX-License-Identifier: BSL-1.0
// Perseus: two tenants on one device, and what breaks the claims.
#include "published/perseus.hpp"

#include "support/catch.hpp"

using namespace published;

namespace {

[[nodiscard]] std::vector<std::string> broken_claims(perseus_scale const& scale) {
    std::vector<std::string> out;
    auto const found = perseus_scenario(scale);
    for (auto const& claim : found.claims())
        if (!claim.holds) out.push_back(claim.what);
    return out;
}

}  // namespace

TEST_CASE("Perseus: a tenant that waits for its host leaves room for another one", "[published]") {
    CHECK(broken_claims({}).empty());
}

TEST_CASE("Perseus: the formula for M/D/1 is that of the tables", "[published]") {
    // At load 0.5 a request waits with probability 0.5; by Crommelin's series P(W <= 1) = 0.5 e^0.5 for service time 1
    CHECK(perseus::md1_waits_at_most(0, 0.5) == Approx(0.5));
    CHECK(perseus::md1_waits_at_most(0.999999, 0.5) == Approx(0.5 * std::exp(0.5)).epsilon(1e-4));
    CHECK(perseus::md1_waits_at_most(20, 0.3) == Approx(1));
}
