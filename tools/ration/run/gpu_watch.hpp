// SPDX-License-Identifier: BSL-1.0
/// Which GPUs of a run have shown a fault: they are looked at now and then, and set aside and taken back by the rule of cuda::quarantine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ration/cuda/inventory.hpp>
#include <ration/cuda/quarantine.hpp>
#include <ration/cuda/xid.hpp>

namespace ration::program {

class gpu_watch {
    struct row {
        std::string device;
        cuda::device_id gpu;  // that it is, or is a part of
        bool aside = false;
    };
    std::vector<row> rows_;
    cuda::quarantine rule_;
    std::optional<cuda::xid_watch> xids_;
    nanoseconds next_{};

public:
    /// Between two looks; one of them takes milliseconds.
    static constexpr nanoseconds interval = seconds(5);

    struct change {
        std::string device;
        bool aside = false;  ///< set aside, or taken back
        std::string why;     ///< it was set aside
    };

    /// For devices that are sound GPUs, or instances of some, of `found`.
    gpu_watch(std::span<std::string const> devices, cuda::inventory const& found, nanoseconds now);
    /// From now on what the driver reports counts too. Without an effect where it reports nothing.
    void listen();

    [[nodiscard]] nanoseconds next_look() const noexcept { return next_; }
    /// Looks, and says what has changed. `idle`: devices that no job has.
    [[nodiscard]] std::vector<change> look(std::span<std::string const> idle, nanoseconds now);
    /// The same of what was seen and heard.
    [[nodiscard]] std::vector<change> judge(cuda::inventory found, std::span<cuda::xid_report const> heard, std::span<std::string const> idle,
                                            nanoseconds now);

private:
    [[nodiscard]] std::string reason(row const& one, cuda::inventory const& found, std::span<cuda::xid_report const> heard) const;
};

}  // namespace ration::program
