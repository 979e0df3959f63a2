// SPDX-License-Identifier: BSL-1.0
// Device files that a job may not open, on the running kernel.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <ration/cgroup/detail/devices.hpp>
#include <ration/cgroup/device_filter.hpp>
#include <ration/cgroup/hierarchy.hpp>
#include <ration/cgroup/kernel_io.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::cgroup;

namespace {

/// Whether a child that `place` puts into a group can open the file; the errno otherwise.
template <class Place>
[[nodiscard]] int opens(Place const& place, char const* file) {
    int gate[2];
    REQUIRE(::pipe(gate) == 0);
    pid_t const pid = ::fork();
    if (pid == 0) {
        char go = 0;
        ::close(gate[1]);
        if (::read(gate[0], &go, 1) != 1) ::_exit(99);
        int const opened = ::open(file, O_RDONLY | O_CLOEXEC);
        ::_exit(opened >= 0 ? 0 : errno);
    }
    ::close(gate[0]);
    auto const placed = place(pid);
    if (placed) CHECK(::write(gate[1], "g", 1) == 1);
    ::close(gate[1]);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    REQUIRE(placed);
    return WEXITSTATUS(status);
}

constexpr device_number zero{1, 5}, urandom{1, 9};
int tried = 0;

}  // namespace

TEST_CASE("the kernel keeps a job from a device that is denied") {
    kernel_io machine;
    auto guard = device_guard::create(machine, "ration-test-devices-" + std::to_string(::getpid()));
    if (!guard) {
        std::printf("skipped: no device group can be made here: %s\n", guard.failure().remedy);
        return;
    }
    ++tried;
    auto const place = [&guard](int pid) { return guard->place(pid); };
    CHECK(opens(place, "/dev/zero") == 0);
    REQUIRE(guard->deny(std::array{zero}));
    CHECK(opens(place, "/dev/zero") == EPERM);
    CHECK(opens(place, "/dev/null") == 0);
    REQUIRE(guard->allow(zero));
    CHECK(opens(place, "/dev/zero") == 0);
    CHECK(guard->remove());
    CHECK(::access(guard->path().c_str(), F_OK) != 0);
}

TEST_CASE("the kernel keeps a group of v2 from devices by a filter, which goes when it is let go") {
    kernel_io machine;
    auto const found = tree::discover(machine);
    auto const* const own = found ? found->branch_of(controller::core) : nullptr;
    if (own == nullptr) {
        std::printf("skipped: no v2 group can be made here\n");
        return;
    }
    std::string const name = "ration-test-filter-" + std::to_string(::getpid());
    REQUIRE(own->own.make(name));
    auto const group = own->own.child(name);
    REQUIRE(group);
    auto const place = [&group](int pid) { return group->write("cgroup.procs", std::to_string(pid)); };
    {
        auto const filter = device_filter::deny(*group, std::array{zero, urandom});
        if (!filter && filter.failure().code == errc::denied) {
            std::printf("skipped: %s\n", filter.failure().remedy);
        } else {
            ++tried;
            REQUIRE(filter);
            CHECK(opens(place, "/dev/zero") == EPERM);
            CHECK(opens(place, "/dev/urandom") == EPERM);
            CHECK(opens(place, "/dev/null") == 0);
            CHECK(opens(place, "/dev/random") == 0);  // 1:8, between the two
            CHECK(opens(place, "/proc/self/stat") == 0);
        }
    }
    CHECK(opens(place, "/dev/zero") == 0);
    CHECK(device_filter::deny(*group, std::vector<device_number>(801)).failure().code == errc::out_of_range);
    CHECK(remove_tree(own->own, name, 0, seconds(2)));
}

TEST_CASE("something was tried") {
    if (tried == 0) std::exit(77);
}
