// SPDX-License-Identifier: BSL-1.0
/// Looks at the GPUs in a separate thread: the driver takes some hundred ms to wake them up, and a broken one may
/// never answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <ration/cuda/inventory.hpp>
#include <ration/cuda/xid.hpp>

namespace ration::program {

class gpu_prober {
public:
    struct gpu_sample {
        std::uint64_t number = 0;  ///< the first look is 1
        cuda::inventory found{};
        std::vector<cuda::xid_report> received{};  ///< since the sight that was taken before
    };
    using probe_function = std::function<void(gpu_sample&)>;

private:
    struct state;
    std::shared_ptr<state> state_;  // the thread has it too, and may outlive this
    std::thread thread_;

public:
    /// `look` is called in the thread alone, and goes when that ends.
    explicit gpu_prober(probe_function probe);
    gpu_prober(gpu_prober const&) = delete;
    gpu_prober& operator=(gpu_prober const&) = delete;
    /// Waits a second at most for a look in progress: a driver that does not answer must not delay the caller's end.
    ~gpu_prober();

    /// Asks for a look that begins from now on, and returns its number. Requests during another look are one more
    /// look. Does not wait.
    std::uint64_t ask();
    /// The newest sight, each once. Does not wait.
    [[nodiscard]] std::optional<gpu_sample> take();
    /// Readable while there is one to take; -1 where the system gives no descriptor.
    [[nodiscard]] int fd() const noexcept;
};

}  // namespace ration::program
