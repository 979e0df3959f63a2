// SPDX-License-Identifier: BSL-1.0
/// The CUDA runtime that programs on this machine would load, and whether the driver supports it:
/// distinguishes "no driver" from "driver too old". Source: CUDA Runtime API reference; measured
/// without a driver.
#pragma once

#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <ration/cuda/driver.hpp>

namespace ration::cuda {

/// The result of the query. Versions are 1000 x major + 10 x minor.
struct runtime_view {
    /// The library that was found.
    text<32> library{};
    /// Its version.
    int runtime = 0;
    int driver = 0;  ///< newest CUDA that the driver supports; 0 = no driver
    /// The number of devices.
    int devices = 0;
    int code = 0;  ///< result code of counting them
};

/// The reason why programs with this runtime cannot use a GPU; success if they can. Errors:
/// `not_supported` (no driver, or too old), those of `driver_failure`.
[[nodiscard]] inline result<void> usable(runtime_view const& seen) noexcept {
    if (seen.code == 0) return {};
    error out = driver_failure(seen.code, "count GPUs with the CUDA runtime", seen.library.view());
    if (seen.code == 35 && seen.driver == 0)
        out.remedy = "no NVIDIA driver is loaded: install it, or run jobs that need no GPU";
    if (seen.code == 35 && seen.driver != 0)
        out.remedy =
            "the driver is older than this runtime: update the driver, or use programs built for an older CUDA";
    return out;
}

namespace detail {

static_assert(std::is_trivially_copyable_v<runtime_view>, "it goes through a pipe between two copies of one program");

/// The child: loads the newest runtime, since a program loads exactly the one that it was built
/// for.
inline void report_runtime(int to) noexcept {
    runtime_view out;
    stay_away_from_mps();
    for (char const* const name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"}) {
        auto const loaded = library::open(name);
        if (!loaded) continue;
        out.library = name;
        auto* const runtime = loaded->find<int(int*)>("cudaRuntimeGetVersion");
        auto* const driver = loaded->find<int(int*)>("cudaDriverGetVersion");
        auto* const count = loaded->find<int(int*)>("cudaGetDeviceCount");
        if (runtime != nullptr) runtime(&out.runtime);
        if (driver != nullptr) driver(&out.driver);
        out.code = count != nullptr ? count(&out.devices) : driver::not_supported;
        break;
    }
    write_all(to, &out, sizeof out);
}

}  // namespace detail

/// Finds the runtime in a child process, since counting devices initialises CUDA. Errors:
/// `not_found` (no libcudart: PyTorch and others bring their own), `timed_out`, `io`.
[[nodiscard]] inline result<runtime_view> find_runtime(nanoseconds at_most = seconds(30)) noexcept {
    question const about{"ask the CUDA runtime", "libcudart.so",
                         "the driver does not answer: try nvidia-smi, and check dmesg for messages of nvidia"};
    auto const reply = detail::ask(about, at_most, detail::report_runtime);
    if (!reply) return reply.failure();
    runtime_view out;
    if (reply->text.size() != sizeof out)
        return error{.code = errc::io,
                     .operation = about.operation,
                     .subject = about.subject,
                     .remedy = "it ended the process that asked: check dmesg for messages of nvidia"};
    std::memcpy(static_cast<void*>(&out), reply->text.data(), sizeof out);
    if (out.library.empty())
        return error{.code = errc::not_found,
                     .operation = about.operation,
                     .subject = about.subject,
                     .remedy = "nothing is needed: PyTorch and other programs bring their own"};
    return out;
}

}  // namespace ration::cuda
