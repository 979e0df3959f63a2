// SPDX-License-Identifier: BSL-1.0
// Errors that the driver reports by number, from the fake.
#include <fstream>
#include <string>
#include <vector>

#include <ration/cuda/xid.hpp>

#include "scene.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::cuda;
using ration::test::line;
using ration::test::scene;
using ration::test::uuids;
using reports = std::vector<xid_report>;

namespace {

/// The fake driver reads this script from now on.
void change_script(std::string const& script) { std::ofstream(std::getenv("RATION_STAND_IN_GPUS")) << script; }

[[nodiscard]] device_id nth(int n) { return device_id::parse(uuids[n]).value(); }

}  // namespace

TEST_CASE("an Xid is heard once, from the GPU that it is of") {
    std::string const sound = line(0, "0000:17:00.0") + line(1, "0000:31:00.0");
    scene const machine(sound);
    auto watch = xid_watch::open();
    REQUIRE(watch);
    CHECK(watch->take().empty());
    change_script(line(0, "0000:17:00.0") + line(1, "0000:31:00.0", "xid=79"));
    CHECK(watch->take() == reports{{nth(1), 79}});
    CHECK(watch->take().empty());
    change_script(line(0, "0000:17:00.0", "xid=31 broken=15") + line(1, "0000:31:00.0", "xid=79"));
    // What it means is for others to say; a lost GPU is known by its handle
    CHECK(watch->take() == reports{{nth(0), 31}});
    auto moved = std::move(*watch);
    CHECK(moved.take().empty());
}

TEST_CASE("a GPU that is lost at the start, or has no proper name, hides no other") {
    scene const machine(line(0, "0000:17:00.0", "broken=15") + "gpu uuid=GPU-what pci=0000:18:00.0\n" +
                        line(2, "0000:31:00.0"));
    auto watch = xid_watch::open();
    REQUIRE(watch);
    change_script(line(0, "0000:17:00.0", "xid=79") + "gpu uuid=GPU-what pci=0000:18:00.0 xid=79\n" +
                  line(2, "0000:31:00.0", "xid=48"));
    CHECK(watch->take() == reports{{nth(2), 48}});
}

TEST_CASE("without a driver there is nobody to listen to") {
    scene const machine("init 9\n");
    auto const watch = xid_watch::open();
    REQUIRE_FALSE(watch);
    CHECK(watch.failure().code == errc::not_supported);
}
