// SPDX-License-Identifier: BSL-1.0
/// Which GPUs of a run have shown a fault: they are looked at now and then, and set aside and taken back by the rule of cuda::quarantine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ration/cuda/inventory.hpp>
#include <ration/cuda/quarantine.hpp>
#include <ration/cuda/xid.hpp>

#include "run/gpu_looker.hpp"

namespace ration::program {

class gpu_watch {
    struct row {
        std::string device;
        cuda::device_id gpu;  // that it is, or is a part of
        bool aside = false;
    };
    std::vector<row> rows_;
    cuda::quarantine rule_;
    std::optional<gpu_looker> looker_;
    std::vector<std::string> idle_;  // ever since the look was asked for that is judged next
    std::uint64_t asked_ = 0, judged_ = 0;
    nanoseconds next_{};

public:
    /// Between two looks.
    static constexpr nanoseconds interval = seconds(5);

    struct change {
        std::string device;
        bool aside = false;  ///< set aside, or taken back
        std::string why;     ///< it was set aside
    };

    /// For devices that are sound GPUs, or instances of some, of `found`.
    gpu_watch(std::span<std::string const> devices, cuda::inventory const& found, nanoseconds now);
    /// From now on looks are made, in a thread of their own.
    void start(gpu_looker::looking look) { looker_.emplace(std::move(look)); }

    /// Asks for a look that begins from now on, and gives its number. `idle`: devices that no job has.
    std::uint64_t ask(std::span<std::string const> idle, nanoseconds now);
    /// What the newest look says that was not judged yet, if there is one; asks for the next when it is time. Waits for none.
    [[nodiscard]] std::vector<change> look(std::span<std::string const> idle, nanoseconds now);
    /// The last look that was judged; 0: none.
    [[nodiscard]] std::uint64_t judged() const noexcept { return judged_; }
    /// Readable when there is something to judge.
    [[nodiscard]] int fd() const noexcept { return looker_ ? looker_->fd() : -1; }
    /// What is different by what was seen and heard.
    [[nodiscard]] std::vector<change> judge(cuda::inventory found, std::span<cuda::xid_report const> heard, std::span<std::string const> idle,
                                            nanoseconds now);

private:
    [[nodiscard]] std::string reason(row const& one, cuda::inventory const& found, std::span<cuda::xid_report const> heard) const;
};

}  // namespace ration::program
