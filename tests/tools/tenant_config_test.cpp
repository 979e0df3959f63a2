// SPDX-License-Identifier: BSL-1.0
// [[tenant]] of a jobs file: the tree that it makes, and the sentences that a bad one can earn.
#include "config/tenants.hpp"
#include "config_sentences.hpp"
#include "support/catch.hpp"

using namespace config_test;
using namespace ration::program;

namespace {

constexpr std::string_view job = "[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n";

/// The file begins with the policy in line 1; the tenants begin in line 2.
[[nodiscard]] std::string with(std::string_view tenants, std::string_view more = "") {
    return "policy = 'none'\n" + std::string(tenants) + std::string(job) + std::string(more);
}
[[nodiscard]] tenant_tree tree_of(std::string_view tenants) {
    auto const parsed = parse_config(with(tenants), "jobs.toml", {});
    REQUIRE(parsed.problems.empty());
    return parsed.config.tenants;
}

}  // namespace

TEST_CASE("tenants: parents come before their children, and other names behind both", "[tenants]") {
    auto const tree = tree_of(
        "half_life = '2h'\n[[tenant]]\nname = 'vision'\nparent = 'lab'\nweight = 3\nlimit = { gpu = 6 }\n"
        "[[tenant]]\nname = 'lab'\nquota = { gpu = 4, cpu = 1.5, memory = '1GiB' }\nlend = { gpu = 1 }\n");
    CHECK(tree.half_life == ration::seconds(7200));
    std::vector<std::string> const names{"vision", "guest"};
    auto const all = rows_of(tree, names);
    CHECK(all.names == std::vector<std::string>{"lab", "vision", "guest"});
    CHECK(all.rows[0].parent == ration::no_tenant);
    CHECK(all.rows[1].parent == 0);
    CHECK(all.rows[2].parent == ration::no_tenant);
    CHECK(all.rows[1].weight == 3);
    CHECK(all.rows[0].quota == ration::tenant_amounts{1500, 1 << 30, 4, 0, 0, 0});
    CHECK(all.rows[0].lend[2] == 1);
    CHECK(all.rows[1].limit[2] == 6);
    CHECK(all.rows[1].limit[0] == ration::unlimited);
    CHECK(all.row_of("guest") == 2);
}

TEST_CASE("tenants: what is wrong with a tree", "[tenants]") {
    CHECK(reply(with("[[tenant]]\nname = 'a'\nparent = 'b'\n[[tenant]]\nname = 'b'\nparent = 'a'\n")) ==
          sentences{"jobs.toml:4:10: tenant 'a': its parents form a cycle; remove 'parent' from one of them",
                    "jobs.toml:7:10: tenant 'b': its parents form a cycle; remove 'parent' from one of them"});
    CHECK(reply(with("[[tenant]]\nname = 'a'\nparent = 'labb'\n[[tenant]]\nname = 'lab'\n")).front() ==
          "jobs.toml:4:10: tenant 'a': its parent 'labb' is not a tenant; add a [[tenant]] of that name; did you mean "
          "'lab'?");
    CHECK(reply(with("[[tenant]]\nname = 'a'\n[[tenant]]\nname = 'a'\n")) ==
          sentences{"jobs.toml:5:8: tenant 'a': the one in line 3 has the same name; give each a unique name"});
    CHECK(reply(with("[[tenant]]\nname = 'a'\nweight = -1\n")) ==
          sentences{"jobs.toml:4:10: tenant 'a': its weight is -1; write a number above 0 and at most 1000000"});
    CHECK(reply(with("[[tenant]]\nname = 'a'\nweight = nan\n")).size() == 1);
    CHECK(reply(with("[[tenant]]\nweight = 1\n")) ==
          sentences{"jobs.toml:2:1: this tenant has no name; add name = \"...\""});
    CHECK(reply(with("[[tenant]]\nname = 'a'\nquota = { gpu = -2 }\n")) ==
          sentences{"jobs.toml:4:17: tenant 'a': its quota is -2 devices; write a number from 0 to 1000000"});
    CHECK(reply(with("[[tenant]]\nname = 'a'\nlimit = { memory = 'much' }\n")) ==
          sentences{"jobs.toml:4:20: tenant 'a': its limit is 'much' of memory; write a size such as \"16GiB\""});
    CHECK(reply(with("tenant = 3\n")) ==
          sentences{"jobs.toml:2:10: 'tenant' must be a list; write a [[tenant]] with name, and quota = { gpu = 4 }"});
    CHECK(reply(with("half_life = '0s'\n")) ==
          sentences{"jobs.toml:2:13: 'half_life' is 0; write a longer time, or leave it out"});
}

TEST_CASE("tenants: quotas above those of the parent, or above the capacity", "[tenants]") {
    constexpr std::string_view tenants =
        "[[tenant]]\nname = 'lab'\nquota = { gpu = 4 }\n"
        "[[tenant]]\nname = 'a'\nparent = 'lab'\nquota = { gpu = 3 }\n"
        "[[tenant]]\nname = 'b'\nparent = 'lab'\nquota = { gpu = 2 }\n";
    CHECK(reply(with(tenants)) ==
          sentences{
              "jobs.toml:2:1: the quotas of gpu: they are 5 together, and their parent 'lab' has 4; lower a quota"});
    auto const tree = tree_of(
        "[[tenant]]\nname = 'a'\n[[tenant]]\nname = 'b'\nparent = 'a'\nquota = { gpu = 3 }\n"
        "[[tenant]]\nname = 'c'\nquota = { gpu = 2, cpu = 4 }\n");
    diagnostics fits("f"), over("f");
    check_quotas(tree, ration::millicores{4000}, 5, fits);
    CHECK(fits.empty());
    check_quotas(tree, ration::millicores{3000}, 4, over);
    REQUIRE(over.size() == 2);
    CHECK(over.begin()[0].text ==
          "the quotas of cpu: they are 4 cores together, and the capacity is 3 cores; lower a quota");
    CHECK(over.begin()[1].text == "the quotas of gpu: they are 5 together, and the capacity is 4; lower a quota");
}

TEST_CASE("tenants: a file that describes tenants describes those of its jobs", "[tenants]") {
    CHECK(reply(with("[[tenant]]\nname = 'vision'\n", "tenant = 'visoin'\n")).front() ==
          "jobs.toml:4:1: job 'a': its tenant 'visoin' is not in the file; add a [[tenant]] of that name; did you mean "
          "'vision'?");
    CHECK(reply(with("", "tenant = 'anybody'\n")).empty());
}
