// SPDX-License-Identifier: BSL-1.0
// The conditions of nodes, and on which node a job may be.
#include <array>
#include <span>
#include <vector>

#include "nodes/node_lease.hpp"
#include "nodes/node_registry.hpp"
#include "nodes/start_deadline.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

constexpr node_times times{.start = seconds(60), .silence = seconds(10), .lease = seconds(300), .ending = seconds(30)};
constexpr std::size_t a = 0, b = 1;

/// Two nodes that are up at time 0.
[[nodiscard]] node_registry two_nodes(std::size_t jobs = 1) {
    node_registry nodes(2, jobs, times);
    for (auto const node : {a, b}) {
        nodes.start(node, "s", {});
        REQUIRE(nodes.hello(node, "s", {}));
    }
    return nodes;
}

void report(node_registry& nodes, std::size_t node, std::uint64_t number, std::vector<std::size_t> const& present) {
    nodes.report(node, number, present);
}

}  // namespace

TEST_CASE("a node is up from its hello on, and suspect after a silence") {
    node_registry nodes(1, 1, times);
    CHECK(nodes.state(a) == node_state::gone);
    nodes.start(a, "s", {});
    CHECK(nodes.state(a) == node_state::starting);
    CHECK(!nodes.may_assign(0, a));
    CHECK(!nodes.message(a, "s", seconds(1)));  // nothing before its hello
    CHECK(!nodes.hello(a, "r", seconds(2)));    // of an earlier command
    CHECK(nodes.hello(a, "s", seconds(5)));
    CHECK(nodes.state(a) == node_state::up);
    CHECK(!nodes.hello(a, "t", seconds(5)));
    CHECK(nodes.next_change() == seconds(15));
    nodes.advance(nanoseconds{seconds(15).count - 1});
    CHECK(nodes.state(a) == node_state::up);
    nodes.advance(seconds(15));
    CHECK(nodes.state(a) == node_state::suspect);
    CHECK(!nodes.may_assign(0, a));
    CHECK(!nodes.message(a, "t", seconds(16)));
    CHECK(nodes.message(a, "s", seconds(16)));
    CHECK(nodes.state(a) == node_state::up);
    CHECK(nodes.may_assign(0, a));
}

TEST_CASE("a node that does not come in time is gone") {
    node_registry nodes(1, 1, times);
    nodes.start(a, "s", {});
    nodes.advance(seconds(59));
    CHECK(nodes.state(a) == node_state::starting);
    nodes.advance(seconds(60));
    CHECK(nodes.state(a) == node_state::gone);
    CHECK(!nodes.hello(a, "s", seconds(61)));
}

TEST_CASE("a job leaves its node once a report without it answers the list without it") {
    auto nodes = two_nodes(2);
    nodes.assign(0, {{a, 1}});
    CHECK(nodes.is_on(0, a));
    CHECK(nodes.is_assigned(0, a));
    CHECK(!nodes.may_assign(0, b));
    report(nodes, a, 1, {});  // it was not withdrawn
    CHECK(nodes.is_on(0, a));
    nodes.withdraw(0, {a, 3});
    CHECK(!nodes.is_assigned(0, a));
    report(nodes, a, 2, {});  // of before
    CHECK(nodes.is_on(0, a));
    report(nodes, b, 3, {});  // of the other node
    CHECK(nodes.is_on(0, a));
    std::array const still{std::size_t{1}, std::size_t{0}};
    nodes.report(a, 3, still);
    CHECK(nodes.is_on(0, a));
    CHECK(!nodes.may_assign(0, b));
    nodes.withdraw(0, {a, 9});  // the first withdrawal counts
    report(nodes, a, 3, {1});
    CHECK(nodes.is_free(0));
    CHECK(nodes.may_assign(0, b));
}

TEST_CASE("the jobs of a silent node are free after its lease and the time to end them") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}});
    CHECK(nodes.message(a, "s", seconds(100)));
    CHECK(nodes.message(b, "s", seconds(400)));
    nodes.advance(seconds(429));
    CHECK(nodes.state(a) == node_state::suspect);
    CHECK(!nodes.may_assign(0, b));
    CHECK(nodes.message(b, "s", seconds(430)));
    nodes.advance(seconds(430));
    CHECK(nodes.state(a) == node_state::lost);
    CHECK(nodes.state(b) == node_state::up);
    CHECK(nodes.may_assign(0, b));
    CHECK(nodes.is_away(a));
    CHECK(!nodes.message(a, "s", seconds(431)));
    CHECK(!nodes.hello(a, "t", seconds(431)));
    nodes.closed(a);
    CHECK(nodes.state(a) == node_state::lost);
}

TEST_CASE("a node that was lost can come again, without its earlier jobs") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}});
    nodes.advance(seconds(10));
    nodes.advance(seconds(330));
    REQUIRE(nodes.state(a) == node_state::lost);
    nodes.start(a, "t", seconds(331));
    CHECK(nodes.is_away(a));
    nodes.advance(seconds(391));
    CHECK(nodes.state(a) == node_state::lost);  // and not gone
    nodes.start(a, "u", seconds(400));
    nodes.closed(a);
    CHECK(nodes.state(a) == node_state::lost);
    nodes.start(a, "v", seconds(401));
    CHECK(!nodes.hello(a, "v", seconds(402), true));  // its jobs may run elsewhere
    CHECK(nodes.hello(a, "v", seconds(402)));
    CHECK(nodes.state(a) == node_state::up);
    CHECK(nodes.may_assign(0, a));
    nodes.closed(a);
    CHECK(nodes.state(a) == node_state::suspect);  // as after its first start
}

TEST_CASE("silence counts again from the end of a suspend of the controller") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}});
    nodes.start(b, "t", seconds(400));
    nodes.resume(seconds(1000));
    nodes.advance(seconds(1009));
    CHECK(nodes.state(a) == node_state::up);
    CHECK(nodes.state(b) == node_state::starting);
    CHECK(!nodes.is_free(0));
    nodes.advance(seconds(1010));
    CHECK(nodes.state(a) == node_state::suspect);
    nodes.advance(seconds(1330));
    CHECK(nodes.state(a) == node_state::lost);
}

TEST_CASE("a node that has ended without its lease can come again, and one that ended by order stays away") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}});
    nodes.ended(a, node_end::without_lease);
    CHECK(nodes.state(a) == node_state::lost);
    CHECK(nodes.is_free(0));
    CHECK(!nodes.message(a, "s", seconds(1)));
    nodes.ended(b, node_end::by_order);
    CHECK(nodes.state(b) == node_state::gone);
    nodes.closed(a);
    nodes.start(a, "t", seconds(2));
    CHECK(nodes.hello(a, "t", seconds(3)));
}

TEST_CASE("the end of a connection frees no job; the hello of the next agent does") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}});
    nodes.closed(a);
    CHECK(nodes.state(a) == node_state::suspect);
    CHECK(!nodes.message(a, "s", seconds(1)));  // of a buffer
    nodes.start(a, "u", seconds(1));
    CHECK(!nodes.may_assign(0, b));
    nodes.advance(seconds(61));
    CHECK(nodes.state(a) == node_state::starting);  // it waits for the lease of an earlier agent
    CHECK(nodes.hello(a, "u", seconds(63)));
    CHECK(nodes.message(b, "s", seconds(63)));
    CHECK(nodes.may_assign(0, b));
    CHECK(nodes.state(a) == node_state::up);
}

TEST_CASE("a node that is started again and again loses its lease all the same") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}});
    nodes.closed(a);
    nodes.start(a, "s", seconds(329));
    nodes.advance(seconds(330));
    CHECK(nodes.state(a) == node_state::lost);
    CHECK(nodes.is_free(0));
}

TEST_CASE("a node that has ended keeps no job, and a command that never came up is gone at its end") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}});
    REQUIRE(nodes.message(a, "s", seconds(1)));
    nodes.ended(a, node_end::by_order);
    CHECK(nodes.state(a) == node_state::gone);
    CHECK(nodes.is_free(0));
    nodes.closed(a);
    CHECK(nodes.state(a) == node_state::gone);

    node_registry fresh(1, 0, times);
    fresh.start(a, "s", {});
    fresh.closed(a);
    CHECK(fresh.state(a) == node_state::gone);
    fresh.start(a, "s", seconds(1));
    CHECK(fresh.state(a) == node_state::starting);
}

TEST_CASE("a lease counts from the clock that the controller repeats") {
    node_lease lease(seconds(10), seconds(100));
    CHECK(!lease.is_over(seconds(109)));
    CHECK(lease.is_over(seconds(110)));
    lease.renew(seconds(105), seconds(114));  // it was nine seconds on its way
    CHECK(lease.until() == seconds(115));
    lease.renew(seconds(101), seconds(114));
    CHECK(lease.until() == seconds(115));
    lease.renew(seconds(999), seconds(114));  // a clock that this node never had
    CHECK(lease.until() == seconds(124));
}

TEST_CASE("a job on two nodes is free once both have confirmed, in any order") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}, {b, 4}});
    CHECK(nodes.nodes_of(0) == std::vector<std::size_t>{a, b});
    CHECK(nodes.is_assigned(0, b));
    CHECK(!nodes.is_broken(0));
    nodes.withdraw(0, {a, 2});
    CHECK(nodes.is_leaving(0));
    CHECK(nodes.is_assigned(0, b));
    nodes.withdraw(0, {b, 5});
    report(nodes, b, 4, {});  // of before, though a has left with a smaller number
    CHECK(nodes.is_on(0, b));
    report(nodes, b, 5, {});
    CHECK(nodes.nodes_of(0) == std::vector<std::size_t>{a});
    CHECK(!nodes.is_broken(0));  // it leaves
    CHECK(!nodes.may_assign(0, b));
    report(nodes, a, 2, {});
    CHECK(nodes.is_free(0));
    CHECK(nodes.may_assign(0, b));
}

TEST_CASE("a job that loses one of its nodes is broken, and not free before the other has confirmed") {
    auto nodes = two_nodes();
    nodes.assign(0, {{a, 1}, {b, 1}});
    nodes.closed(a);
    nodes.start(a, "u", seconds(1));
    REQUIRE(nodes.hello(a, "u", seconds(2)));
    CHECK(nodes.is_broken(0));
    CHECK(!nodes.may_assign(0, a));
    nodes.withdraw(0, {b, 2});
    CHECK(!nodes.is_broken(0));
    report(nodes, b, 2, {});
    CHECK(nodes.may_assign(0, a));
    nodes.assign(0, {{a, 1}});
    CHECK(!nodes.is_broken(0));
}

TEST_CASE("each phase of a start on several nodes has the whole time") {
    start_deadline start;
    start.begin(seconds(100));
    CHECK(!start.is_over(nanoseconds{seconds(130).count - 1}, seconds(30)));
    CHECK(start.is_over(seconds(130), seconds(30)));
    start.advance(start_phase::greeting, seconds(120));
    start.advance(start_phase::greeting, seconds(125));  // it does not begin twice
    CHECK(!start.is_over(seconds(149), seconds(30)));
    CHECK(start.is_over(seconds(150), seconds(30)));
    start.advance(start_phase::stepping, seconds(140));
    start.advance(start_phase::greeting, seconds(150));  // nor again after a later one
    CHECK(start.phase() == start_phase::stepping);
    CHECK(start.is_over(seconds(170), seconds(30)));
    start.begin(seconds(200));
    CHECK(start.phase() == start_phase::launching);
    CHECK(!start.is_over(seconds(229), seconds(30)));
}

TEST_CASE("a node that has kept its jobs has those of its first report") {
    auto nodes = two_nodes(2);
    nodes.assign(0, {{a, 1}});
    nodes.assign(1, {{a, 7}});
    nodes.closed(a);
    nodes.start(a, "t", seconds(1));
    CHECK(!nodes.hello(a, "s", seconds(2), true));  // of the connection that has ended
    CHECK(nodes.hello(a, "t", seconds(2), true));
    CHECK(nodes.awaits_report(a));
    CHECK(nodes.state(a) == node_state::up);
    CHECK(nodes.is_on(0, a));
    CHECK(!nodes.may_assign(0, b));
    report(nodes, a, 0, {0});  // it has never received the list with the second job
    CHECK(nodes.is_on(0, a));
    CHECK(nodes.is_free(1));
    CHECK(!nodes.awaits_report(a));
    nodes.assign(1, {{a, 1}});
    report(nodes, a, 0, {0});  // sent before list 1 has arrived
    CHECK(nodes.is_on(1, a));
}

TEST_CASE("a later controller expects the jobs of an earlier one until their nodes have reported or are lost") {
    node_registry nodes(2, 3, times);
    nodes.expect(0, {a}, 1, false, seconds(5));
    nodes.expect(1, {b}, 2, false, seconds(5));
    nodes.expect(2, {a}, 1, true, seconds(5));
    CHECK(nodes.is_leaving(2));
    CHECK(nodes.is_broken(1));  // one of its two parts had left
    for (auto const node : {a, b}) nodes.start(node, "s", seconds(5));
    CHECK(nodes.hello(a, "s", seconds(6)));  // another agent, which has ended what was left
    CHECK(nodes.is_free(0));
    CHECK(nodes.is_free(2));
    nodes.advance(seconds(100));  // longer than a first start may take
    CHECK(nodes.state(b) == node_state::starting);
    nodes.advance(nanoseconds{seconds(335).count - 1});
    CHECK(!nodes.is_free(1));
    nodes.advance(seconds(335));
    CHECK(nodes.state(b) == node_state::lost);
    CHECK(nodes.is_free(1));
}
