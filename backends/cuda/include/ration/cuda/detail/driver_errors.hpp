// SPDX-License-Identifier: BSL-1.0
/// Error codes of the driver as errors with a remedy. The runtime uses the same numbers. Source:
/// CUDA Driver API, CUresult; MPS documentation for 805 to 810.
#pragma once

#include <algorithm>
#include <string_view>

#include <ration/result.hpp>

namespace ration::cuda {

namespace detail {

/// A code, its meaning for ration, and the remedy.
struct driver_sentence {
    int code;
    errc means;
    char const* remedy;
};

/// Sorted by code. Codes that are not here are reported with their number only.
inline constexpr driver_sentence driver_sentences[] = {
    // Loading and initialising the driver.
    {34, errc::not_supported,
     "this libcuda.so.1 is the toolkit's stub: take its folder out of LD_LIBRARY_PATH, and install the NVIDIA driver"},
    {35, errc::not_supported,
     "the driver is missing, or older than the CUDA runtime: update the driver, or use a program built for an older CUDA"},
    {36, errc::not_supported, "the driver lacks a function that the CUDA runtime calls: update the driver"},
    {46, errc::busy,
     "the GPU lets one process compute at a time, or none: end the process that has it, or let an administrator set nvidia-smi -c DEFAULT"},
    {100, errc::not_found, "this mask and this container allow no GPU: check CUDA_VISIBLE_DEVICES and nvidia-smi -L"},
    {101, errc::not_found, "no device has this number: count again under the same mask"},
    // Rights and versions on this machine.
    {800, errc::denied, "let this user read and write /dev/nvidiactl, /dev/nvidia-uvm and /dev/nvidia*"},
    {801, errc::not_supported, "the driver is too old for this, or the GPU has no such ability"},
    {802, errc::busy,
     "the NVSwitches are not set up: start nvidia-fabricmanager, in the driver's very version, and wait until it is ready"},
    {803, errc::conflict,
     "the driver's library and its kernel module are of different versions: restart the machine, or the container"},
    {804, errc::not_supported,
     "the CUDA compatibility package does not serve this GPU: take its folder out of LD_LIBRARY_PATH, or update the driver"},
    // MPS.
    {805, errc::not_found,
     "the MPS daemon was not reached: start nvidia-cuda-mps-control -d, or unset CUDA_MPS_PIPE_DIRECTORY to run without it"},
    {806, errc::io,
     "the MPS server broke off: end every job on its GPUs, see server.log in CUDA_MPS_LOG_DIRECTORY, then start them again"},
    {807, errc::busy,
     "the MPS server takes no clients after a fault of one of them: end every job on its GPUs, then start them again"},
    {808, errc::limit, "the MPS server has all the clients that it can have: start the job when another has ended"},
    {809, errc::limit,
     "the GPU has all the MPS connections that it can have: lower CUDA_DEVICE_MAX_CONNECTIONS, or start the job when another has ended"},
    {810, errc::gone, "the MPS server ended this client: start the job again"},
};

}  // namespace detail

/// The error of a code other than 0; a code that is not in the table becomes `io`.
[[nodiscard]] inline error driver_failure(int code, char const* operation, std::string_view subject) noexcept {
    auto const* const known = std::ranges::find(detail::driver_sentences, code, &detail::driver_sentence::code);
    bool const found = known != std::end(detail::driver_sentences);
    return {.code = found ? known->means : errc::io,
            .operation = operation,
            .subject = subject,
            .remedy = found ? known->remedy : "check dmesg for messages of nvidia, and nvidia-smi"};
}

}  // namespace ration::cuda
