// SPDX-License-Identifier: BSL-1.0
/// The state of the GPUs of a run: they are looked at now and then, and on request; those that have shown a
/// fault are cordoned and taken back by the rule of cuda::quarantine. A caller that needs the present state
/// asks for a look, and continues when that was judged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ration/cuda/inventory.hpp>
#include <ration/cuda/quarantine.hpp>
#include <ration/cuda/xid.hpp>

#include "run/gpu_prober.hpp"

namespace ration::program {

class gpu_watch {
    struct row {
        std::string device;
        cuda::device_id gpu;  // that it is, or is a part of
        bool cordoned = false;
    };
    std::vector<row> rows_;
    cuda::quarantine rule_;
    std::optional<gpu_prober> prober_;
    cuda::inventory seen_;
    std::optional<error> failure_;            // of the looks since the one that was judged last
    std::vector<cuda::xid_report> received_;  // since then
    std::vector<std::string> idle_;           // ever since the look was asked for that is judged next
    std::uint64_t asked_ = 0, judged_ = 0;
    nanoseconds next_{}, waits_from_{};

public:
    /// Between two looks.
    static constexpr nanoseconds interval = seconds(5);
    /// With a driver that does not answer: no driver takes so long to wake its GPUs.
    static constexpr nanoseconds patience = seconds(5);

    struct change {
        std::string device;
        bool cordoned = false;  ///< cordoned, or taken back
        std::string why;        ///< it was cordoned
    };

    /// For devices that are sound GPUs, or instances of some, of `found`.
    gpu_watch(std::span<std::string const> devices, cuda::inventory found, nanoseconds now);
    /// From now on looks are made, in a thread of their own.
    void start(gpu_prober::probe_function probe) { prober_.emplace(std::move(probe)); }

    /// Asks for a look that begins from now on, and gives its number. `idle`: devices that no job has.
    std::uint64_t ask(std::span<std::string const> idle, nanoseconds now);
    /// The newest look that was not judged yet, if there is one; asks for the next when it is time. Waits for
    /// none.
    [[nodiscard]] std::vector<change> probe(std::span<std::string const> idle, nanoseconds now);
    /// The last look that was judged; 0: none. One in which NVML failed, where it did not at the start, shows nothing
    /// and is not judged: another follows.
    [[nodiscard]] std::uint64_t judged() const noexcept { return judged_; }
    /// The last look; before the first one, the findings at the start.
    [[nodiscard]] cuda::inventory const& seen() const noexcept { return seen_; }
    /// Whether it has shown a process that computes on one of these. A GPU with a fault may show none, but no job gets
    /// it anyway.
    [[nodiscard]] bool in_use(std::span<std::string const> devices) const;
    /// Why nothing new is known of the GPUs since longer than `patience`, and what to do; nothing while the driver
    /// answers.
    [[nodiscard]] std::optional<std::string> trouble(nanoseconds now) const;
    /// Readable when there is something to judge.
    [[nodiscard]] int fd() const noexcept { return prober_ ? prober_->fd() : -1; }
    /// The changes since the last look.
    [[nodiscard]] std::vector<change> classify(cuda::inventory found, std::span<cuda::xid_report const> received,
                                               std::span<std::string const> idle, nanoseconds now);

private:
    [[nodiscard]] std::string reason(row const& one, cuda::inventory const& found,
                                     std::span<cuda::xid_report const> received) const;
};

}  // namespace ration::program
