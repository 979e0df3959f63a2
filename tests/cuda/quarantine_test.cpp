// SPDX-License-Identifier: BSL-1.0
// GPUs that are cordoned and come back: what holds in every history, and some histories by hand.
#include <map>
#include <random>
#include <vector>

#include <ration/cuda/quarantine.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::cuda;

namespace {

[[nodiscard]] found_gpu gpu_number(int n, bool sound = true) {
    found_gpu out;
    out.what.id = device_id(device_kind::gpu, {static_cast<std::uint8_t>(n + 1)});
    if (!sound) out.fault = error{.code = errc::gone};
    return out;
}

[[nodiscard]] device_id id(int n) { return gpu_number(n).what.id; }

constexpr nanoseconds at(double s) { return seconds(s); }

}  // namespace

TEST_CASE("a GPU comes back when it has been found sound twice after its wait") {
    quarantine q;
    std::vector const good{gpu_number(0), gpu_number(1)}, bad{gpu_number(0, false), gpu_number(1)},
        absent{gpu_number(1)};
    CHECK_FALSE(q.usable(id(0)));  // not observed yet
    q.observe(good, at(0));
    CHECK((q.usable(id(0)) && q.usable(id(1)) && !q.next_probe()));
    q.observe(bad, at(1));
    CHECK((!q.usable(id(0)) && q.usable(id(1))));
    CHECK(q.usable(good).size() == 1);
    CHECK(q.next_probe() == at(31));
    q.observe(good, at(20));
    q.observe(good, at(30));
    q.observe(good, at(31));
    CHECK_FALSE(q.usable(id(0)));
    q.observe(bad, at(32));
    q.observe(good, at(62));
    CHECK_FALSE(q.usable(id(0)));  // one proof, after another fault
    q.observe(good, at(63));
    CHECK(q.usable(id(0)));
    q.observe(absent, at(64));
    CHECK((!q.usable(id(0)) && q.next_probe() == at(64 + 60)));  // a relapse: twice the wait
}

TEST_CASE("errors of programs set no GPU aside, unknown ones do") {
    quarantine q;
    q.observe(std::vector{gpu_number(0)}, at(0));
    for (unsigned xid : {13U, 31U, 43U, 45U, 68U, 109U}) q.report(id(0), xid, at(1));
    CHECK(q.usable(id(0)));
    q.report(id(7), 79, at(1));
    CHECK_FALSE(q.usable(id(7)));
    CHECK_FALSE(q.next_probe());
    q.report(id(0), 4711, at(1));
    CHECK_FALSE(q.usable(id(0)));
}

TEST_CASE("the wait forgets what was long ago") {
    quarantine q;
    std::vector const good{gpu_number(0)};
    double now = 0;
    auto const fall_and_return = [&] {  // returns the wait
        q.report(id(0), 79, at(now));
        double const back = to_seconds(*q.next_probe());
        q.observe(good, at(back));
        q.observe(good, at(back + 1));
        REQUIRE(q.usable(id(0)));
        double const wait = back - now;
        now = back + 1;
        return wait;
    };
    q.observe(good, at(0));
    std::vector<double> waits;
    for (int i = 0; i < 8; ++i) waits.push_back(fall_and_return());
    CHECK(waits == std::vector<double>{30, 60, 120, 240, 480, 960, 1800, 1800});
    now += 1800;
    CHECK(fall_and_return() == 900);
    now += 100'000;
    CHECK(fall_and_return() == 30);
}

TEST_CASE("whatever happens: none is used while it is faulty, none is lost, none suffers for another") {
    std::mt19937_64 rng(20'261'124);
    auto const below = [&rng](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
    for (int round = 0; round < 300; ++round) {
        quarantine all, alone;  // `alone` observes GPU 0 only
        double now = 0;
        std::map<int, bool> faulty;
        for (int step = 0; step < 60; ++step) {
            now += below(200);
            int const which = below(3);
            if (below(4) == 0) {
                unsigned const xid = below(2) == 0 ? 79 : 31;
                all.report(id(which), xid, at(now));
                if (which == 0) alone.report(id(0), xid, at(now));
                if (step > 0 && xid == 79) REQUIRE_FALSE(all.usable(id(which)));
                continue;
            }
            std::vector<found_gpu> found;
            for (int n = 0; n < 3; ++n) {
                faulty[n] = below(4) == 0;
                if (!faulty[n] || below(2) == 0) found.push_back(gpu_number(n, !faulty[n]));
            }
            all.observe(found, at(now));
            std::erase_if(found, [](found_gpu const& g) { return g.what.id != id(0); });
            alone.observe(found, at(now));
            for (int n = 0; n < 3; ++n) REQUIRE_FALSE((faulty[n] && all.usable(id(n))));
            REQUIRE(all.usable(id(0)) == alone.usable(id(0)));
        }
        std::vector const good{gpu_number(0), gpu_number(1), gpu_number(2)};
        all.observe(good, at(now + 1800));
        all.observe(good, at(now + 1801));
        for (int n = 0; n < 3; ++n) REQUIRE(all.usable(id(n)));
        REQUIRE_FALSE(all.next_probe());
    }
}
