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

#include <ration/cgroup/devices.hpp>
#include <ration/cgroup/kernel_io.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::cgroup;

namespace {

/// Whether a child in the group can open the file; the errno otherwise.
[[nodiscard]] int opens(device_guard const& guard, char const* file) {
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
    auto const placed = guard.place(pid);
    if (placed) CHECK(::write(gate[1], "g", 1) == 1);
    ::close(gate[1]);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    REQUIRE(placed);
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("the kernel keeps a job from a device that is denied") {
    kernel_io machine;
    auto guard = device_guard::create(machine, "ration-test-devices-" + std::to_string(::getpid()));
    if (!guard) {
        std::printf("skipped: no device group can be made here: %s\n", guard.failure().remedy);
        std::exit(77);
    }
    constexpr device_number zero{1, 5};
    CHECK(opens(*guard, "/dev/zero") == 0);
    REQUIRE(guard->deny(std::array{zero}));
    CHECK(opens(*guard, "/dev/zero") == EPERM);
    CHECK(opens(*guard, "/dev/null") == 0);
    REQUIRE(guard->allow(zero));
    CHECK(opens(*guard, "/dev/zero") == 0);
    CHECK(guard->remove());
    CHECK(::access(guard->path().c_str(), F_OK) != 0);
}
