// SPDX-License-Identifier: BSL-1.0
#include "run/host_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace ration::program {

bool is_of_host(error const& failure, job_config const& job) noexcept {
    constexpr std::array of_machine{ENOSPC, EDQUOT, EMFILE, ENFILE,   EAGAIN,       ENOMEM,    EIO,
                                    EROFS,  ESTALE, ENODEV, ENOTCONN, EHOSTUNREACH, EHOSTDOWN, ETIMEDOUT};
    if (failure.code == errc::empty_set) return false;  // ENOSPC of a cgroup: it has no CPU
    if (std::ranges::find(of_machine, failure.system) != of_machine.end()) return true;
    auto const directory = decltype(failure.subject)(job.directory);  // as far as an error has room for it
    return failure.system == ENOENT && !directory.empty() && failure.subject.view() == directory.view();
}

}  // namespace ration::program
