// SPDX-License-Identifier: BSL-1.0
/// Cordons GPUs after a fault, probes them again, and returns them: neither a known nor an unknown
/// error removes a GPU for good. Source: reports of GPUs that a transient Xid removed permanently
/// (NVIDIA/k8s-device-plugin #189, #234, #111, #403).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <ration/cuda/detail/nvml.hpp>
#include <ration/units.hpp>

namespace ration::cuda {

/// True if an Xid is caused by a program and not by the GPU: a wrong address (13, 31), a hung or
/// ended program (43, 45, 109), an invalid video stream (68). Any other number cordons the GPU
/// until its probes succeed.
[[nodiscard]] constexpr bool is_the_programs_fault(unsigned xid) noexcept {
    constexpr unsigned of_programs[] = {13, 31, 43, 45, 68, 109};
    return std::ranges::find(of_programs, xid) != std::end(of_programs);
}

/// The state of each GPU. A fault cordons it; after a wait, `proofs` successful probes in a row
/// return it. The wait doubles with each relapse, and halves for each period of that length
/// without a fault. It never exceeds `longest`, so no GPU is lost. No clock, no I/O: the caller
/// probes and passes the time.
class quarantine {
public:
    /// The bounds of the wait.
    static constexpr nanoseconds shortest = seconds(30), longest = seconds(1800);
    /// Successful probes that return a GPU.
    static constexpr int proofs = 2;

private:
    struct state {
        bool cordoned = false;
        int sound_probes = 0;
        nanoseconds wait = shortest;  ///< of the present or the next cordon
        nanoseconds since{};          ///< of the last fault
        nanoseconds calm_from{};      ///< start of the period for the next halving
    };
    std::map<device_id, state> known_;

public:
    /// Adds a probe at `now`, which never decreases. A GPU becomes known when it is first found
    /// without a fault; a known GPU that is missing counts as faulty.
    void observe(std::span<found_gpu const> found, nanoseconds now) noexcept {
        for (found_gpu const& one : found)
            if (!one.fault) known_.try_emplace(one.what.id);
        for (auto& [id, each] : known_) {
            bool const sound =
                std::ranges::any_of(found, [&id](found_gpu const& one) { return !one.fault && one.what.id == id; });
            sound ? probe_sound(each, now) : fault(each, now);
        }
    }

    /// Adds an error that the driver reported between two probes. Errors of unknown GPUs are
    /// ignored.
    void report(device_id const& id, unsigned xid, nanoseconds now) noexcept {
        auto const at = known_.find(id);
        if (at != known_.end() && !is_the_programs_fault(xid)) fault(at->second, now);
    }

    /// True if the GPU is known and not cordoned.
    [[nodiscard]] bool usable(device_id const& id) const noexcept {
        auto const at = known_.find(id);
        return at != known_.end() && !at->second.cordoned;
    }

    /// The GPUs of `found` that can be allocated.
    [[nodiscard]] std::vector<gpu> usable(std::span<found_gpu const> found) const noexcept {
        std::vector<gpu> out;
        for (found_gpu const& one : found)
            if (!one.fault && usable(one.what.id)) out.push_back(one.what);
        return out;
    }

    /// The latest time of the next probe; empty if no GPU is cordoned.
    [[nodiscard]] std::optional<nanoseconds> next_probe() const noexcept {
        std::optional<nanoseconds> out;
        for (auto const& [id, each] : known_)
            if (each.cordoned && (!out || each.since + each.wait < *out)) out = each.since + each.wait;
        return out;
    }

private:
    /// Cordons a GPU, or extends its cordon.
    static void fault(state& one, nanoseconds now) noexcept {
        if (!one.cordoned) {
            for (; one.wait > shortest && now - one.calm_from >= one.wait; one.wait = {one.wait.count / 2})
                one.calm_from = one.calm_from + one.wait;
            one.wait = std::max(one.wait, shortest);
        }
        one.cordoned = true;
        one.sound_probes = 0;
        one.since = now;
    }

    /// Counts a successful probe; the last one ends the cordon.
    static void probe_sound(state& one, nanoseconds now) noexcept {
        if (!one.cordoned || now - one.since < one.wait || ++one.sound_probes < proofs) return;
        one.cordoned = false;
        one.sound_probes = 0;
        one.wait = std::min(nanoseconds{one.wait.count * 2}, longest);
        one.calm_from = now;
    }
};

}  // namespace ration::cuda
