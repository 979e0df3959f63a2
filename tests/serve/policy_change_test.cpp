// SPDX-License-Identifier: BSL-1.0
// A change of the service's policy: the service names the policy that decides, also if the exchange or the disk fails.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/policy_registry.hpp"
#include "serve/service_control.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace ration;
using namespace ration::program;

[[nodiscard]] job_store store_in(std::string const& folder) {
    auto opened = job_store::open(folder + "/jobs.db", 1);
    REQUIRE(opened);
    return std::move(opened).value();
}

[[nodiscard]] job_list list_in(std::string const& folder) {
    auto opened = job_list::open(folder + "/jobs.db");
    REQUIRE(opened);
    return std::move(opened).value();
}

/// A service whose run does nothing but exchange its policy.
struct service {
    temporary_folder folder;
    job_store store = store_in(folder.path);
    job_list list = list_in(folder.path);
    run_config config;
    host_devices devices = host_devices::find(config);
    job_table jobs{config.jobs, {.cpu = {2000}, .memory = {}, .tenants = {}, .open = true}, 4};
    service_control control{
        store, list, {config, devices, {2000}}, {.uid = 1000, .policy = "equal_share", .folder = {}}, {}};
    std::string deciding = "equal_share";
    std::string refused;  ///< the name of a policy that cannot be bound

    service() {
        control.attach(jobs, [this](policy_change& next) -> result<void> {
            REQUIRE(next.policy != nullptr);
            if (next.choice.policy == refused)
                return error{.code = errc::no_memory, .operation = "bind", .subject = "columns", .remedy = "free some"};
            std::swap(deciding, next.choice.policy);
            return {};
        });
    }

    [[nodiscard]] api_reply set(std::string const& policy) {
        auto const reply = control.answer(
            {.method = "POST", .path = "/v1/service/policy", .body = "{\"policy\": \"" + policy + "\"}", .uid = 1000});
        REQUIRE(reply);
        return *reply;
    }

    /// Whether the API names this policy, and the run decides by it.
    [[nodiscard]] bool is(std::string const& policy) {
        auto const reply = control.answer({.method = "GET", .path = "/v1/service", .body = {}, .uid = 1000});
        return reply && deciding == policy && reply->json.find("\"policy\":\"" + policy + '"') != std::string::npos;
    }
};

}  // namespace

TEST_CASE("a policy that cannot be bound leaves the earlier one, which the service names") {
    service one;
    one.refused = "tradl";
    auto const reply = one.set("tradl");
    CHECK(reply.status == 400);
    CHECK(reply.json.find("policy 'tradl': bind columns: out of memory; free some; 'equal_share' stays the policy") !=
          std::string::npos);
    CHECK(one.is("equal_share"));
    one.control.end_commit(static_cast<bool>(one.store.commit()));
    CHECK(one.is("equal_share"));
    CHECK_FALSE(*policy_kept_in(one.store));
}

TEST_CASE("a policy decides at once, and its earlier one again if the disk is full") {
    service one;
    CHECK(one.set("none").status == 200);
    CHECK(one.is("none"));
    one.control.end_commit(static_cast<bool>(one.store.commit()));
    REQUIRE(one.is("none"));
    CHECK(one.set("tradl").status == 200);
    CHECK(one.set("equal_share").status == 200);
    one.store.roll_back();
    one.control.end_commit(false);
    CHECK(one.is("none"));
    CHECK(read_policy(policy_kept_in(one.store)->value())->policy == "none");
}

TEST_CASE("the service names the new policy if the earlier one cannot be bound again") {
    service one;
    CHECK(one.set("tradl").status == 200);
    one.refused = "equal_share";
    one.store.roll_back();
    one.control.end_commit(false);
    CHECK(one.is("tradl"));
}
