// SPDX-License-Identifier: BSL-1.0
/// Looks at the GPUs in a thread of its own: the driver takes some hundred ms to wake them up, and a broken one may
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

class gpu_looker {
public:
    struct sight {
        std::uint64_t number = 0;  ///< the first look is 1
        cuda::inventory found{};
        std::vector<cuda::xid_report> heard{};  ///< since the sight that was taken before
    };
    using looking = std::function<void(sight&)>;

private:
    struct state;
    std::shared_ptr<state> state_;  // the thread has it too, and may outlive this
    std::thread thread_;

public:
    /// `look` is called in the thread alone, and goes when that ends.
    explicit gpu_looker(looking look);
    gpu_looker(gpu_looker const&) = delete;
    gpu_looker& operator=(gpu_looker const&) = delete;
    /// Waits for a look that goes on, a second at most: a driver that does not answer holds up nobody's end.
    ~gpu_looker();

    /// Asks for a look that begins from now on, and gives its number. What is asked for while another goes on is one
    /// look. Does not wait.
    std::uint64_t ask();
    /// The newest sight, each once. Does not wait.
    [[nodiscard]] std::optional<sight> take();
    /// Readable while there is one to take; -1 where the system gives no descriptor.
    [[nodiscard]] int fd() const noexcept;
};

}  // namespace ration::program
