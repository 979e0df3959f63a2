// SPDX-License-Identifier: BSL-1.0
/// SIGINT, SIGTERM and SIGHUP as something to poll for.
#pragma once

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// From its making to its end these signals do not end the program; they wait in `fd`. SIGPIPE is ignored.
class stop_signals {
    process::descriptor fd_;
    int received_ = 0;

public:
    [[nodiscard]] static result<stop_signals> open();
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// How many have come since the start.
    [[nodiscard]] int read() noexcept;
};

}  // namespace ration::program
