// SPDX-License-Identifier: BSL-1.0
#include <ration/fake/backend.hpp>

#include "support/catch.hpp"

using ration::errc;
using ration::job_id;
using ration::resource_id;
using ration::fake::call;
namespace fake = ration::fake;

namespace {

constexpr job_id a{1}, b{2};
constexpr ration::error broken{.code = errc::io, .operation = "test"};

ration::setting cpu(job_id job, std::int64_t amount) {
    return {.job = job, .node = 0, .resource = resource_id::cpu, .amount = amount};
}

ration::plan<fake::operation> planned(fake::backend& backend, ration::setting const& wanted) {
    ration::plan<fake::operation> out;
    REQUIRE(backend.plan(wanted, out));
    return out;
}

}  // namespace

TEST_CASE("fake: the laws of a backend hold") {
    fake::backend backend;
    backend.add(a);
    auto const plan = planned(backend, cpu(a, 500));
    REQUIRE(plan.size() == 1);
    CHECK(plan[0] ==
          fake::operation{.job = a, .resource = resource_id::cpu, .old_value = ration::unlimited, .new_value = 500});
    CHECK(backend.amount(a, resource_id::cpu) == ration::unlimited);  // planning changes nothing
    REQUIRE(backend.apply(plan[0]));
    CHECK(backend.verify(plan[0]));
    CHECK(backend.amount(a, resource_id::cpu) == 500);
    CHECK(planned(backend, cpu(a, 500)).empty());
    REQUIRE(backend.undo(plan[0]));
    CHECK(backend.amount(a, resource_id::cpu) == ration::unlimited);
    CHECK(backend.verify(plan[0]).failure().code == errc::unverified);
}

TEST_CASE("fake: jobs and resources that are not there") {
    fake::backend backend({resource_id::cpu, resource_id::memory});
    backend.add(a);
    ration::plan<fake::operation> out;
    CHECK(backend.plan(cpu(b, 1), out).failure().code == errc::not_found);
    CHECK(backend.plan({.job = a, .node = 0, .resource = resource_id::gpu, .amount = 1}, out).failure().code ==
          errc::not_supported);
    CHECK(backend.plan({.job = a, .node = 0, .resource = resource_id::memory, .amount = 1}, out));
    CHECK(out.size() == 1);
    CHECK(backend.resources().size() == 2);
    backend.remove(a);
    CHECK(backend.apply(out[0]).failure().code == errc::not_found);
    CHECK(backend.verify(out[0]).failure().code == errc::not_found);
    CHECK(backend.undo(out[0]).failure().code == errc::not_found);
    CHECK(backend.observe(a).failure().code == errc::not_found);
    CHECK_FALSE(backend.amount(a, resource_id::cpu));
}

TEST_CASE("fake: the n-th call of a kind fails, once, and changes nothing") {
    fake::backend backend;
    backend.add(a);
    backend.fail(call::apply, 2, broken);
    backend.fail(call::verify, 1, broken);
    auto const first = planned(backend, cpu(a, 1)).front();
    CHECK(backend.apply(first));
    auto const second = planned(backend, cpu(a, 2)).front();
    auto const failed = backend.apply(second);
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().operation == std::string_view("test"));
    CHECK(backend.amount(a, resource_id::cpu) == 1);
    CHECK_FALSE(backend.verify(first));
    CHECK(backend.verify(first));
    CHECK(backend.apply(second));
    CHECK(backend.amount(a, resource_id::cpu) == 2);

    backend.fail(call::observe, 1, broken);
    backend.fail(call::plan, 1, broken);
    backend.fail(call::undo, 1, broken);
    backend.fail(call::undo, 2, broken);
    ration::plan<fake::operation> out;
    CHECK_FALSE(backend.observe(a));
    CHECK(backend.observe(a));
    CHECK_FALSE(backend.plan(cpu(a, 3), out));
    CHECK(out.empty());
    CHECK_FALSE(backend.undo(second));
    CHECK_FALSE(backend.undo(second));
    CHECK(backend.amount(a, resource_id::cpu) == 2);
    CHECK(backend.undo(second));
}

TEST_CASE("fake: usage is what the test said, tampering shows in verify, history in order") {
    fake::backend backend;
    backend.add(a);
    CHECK(backend.observe(a)->processes == 1);
    backend.set_usage(a, {.cpu_time = ration::seconds(3), .memory = {7}, .throttled = {}, .processes = 4});
    CHECK(backend.observe(a)->cpu_time == ration::seconds(3));
    CHECK(backend.observe(a)->memory.count == 7);
    auto const op = planned(backend, cpu(a, 5)).front();
    REQUIRE(backend.apply(op));
    backend.tamper(a, resource_id::cpu, 6);
    CHECK(backend.verify(op).failure().code == errc::unverified);
    REQUIRE(backend.undo(op));
    REQUIRE(backend.history().size() == 3);
    CHECK(backend.history()[0] == fake::backend::record{call::apply, op});
    CHECK(backend.history()[1] == fake::backend::record{call::verify, op});
    CHECK(backend.history()[2] == fake::backend::record{call::undo, op});
    backend.clear_history();
    CHECK(backend.history().empty());
    CHECK(backend.describe(op).new_value == std::string_view("5"));
    CHECK(backend.describe(op).old_value == std::string_view("unlimited"));
}
