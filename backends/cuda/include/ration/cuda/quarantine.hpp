// SPDX-License-Identifier: BSL-1.0
/// GPUs that have shown a fault are cordoned, looked at again, and come back: one error is not the end of a GPU, and
/// an unknown one is not either. Source: reports of GPUs that a transient Xid took out for good
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

/// Whether an Xid is the fault of a program and says nothing against the GPU: a wrong address (13, 31), a hung or ended
/// program (43, 45, 109), a bad video stream (68). Any other number sets a GPU aside until it has proved itself.
[[nodiscard]] constexpr bool is_the_programs_fault(unsigned xid) noexcept {
    constexpr unsigned of_programs[] = {13, 31, 43, 45, 68, 109};
    return std::ranges::find(of_programs, xid) != std::end(of_programs);
}

/// One state for each GPU. A fault sets it aside; after a wait it comes back by being found sound `proofs` times in a
/// row. The wait doubles with each relapse, and halves for each time as long as itself that passes in peace; it never
/// grows beyond `longest`, so that no GPU is lost for ever. No clock, no I/O: the caller looks and says when.
class quarantine {
public:
    static constexpr nanoseconds shortest = seconds(30), longest = seconds(1800);
    static constexpr int proofs = 2;

private:
    struct state {
        bool cordoned = false;
        int sound_probes = 0;
        nanoseconds wait = shortest;  ///< of the present or the next time aside
        nanoseconds since{};          ///< of the last fault
        nanoseconds calm_from{};      ///< where the next halving counts from
    };
    std::map<device_id, state> known_;

public:
    /// What an inventory shows at `now`, which never goes back. A GPU that was known and is not there any more is as
    /// one with a fault. A GPU is known once it was sound.
    void observe(std::span<found_gpu const> found, nanoseconds now) noexcept {
        for (found_gpu const& one : found)
            if (!one.fault) known_.try_emplace(one.what.id);
        for (auto& [id, each] : known_) {
            bool const sound =
                std::ranges::any_of(found, [&id](found_gpu const& one) { return !one.fault && one.what.id == id; });
            sound ? probe_sound(each, now) : fault(each, now);
        }
    }

    /// An error that the driver has reported of a GPU between two looks. One of a GPU that is not known is not kept.
    void report(device_id const& id, unsigned xid, nanoseconds now) noexcept {
        auto const at = known_.find(id);
        if (at != known_.end() && !is_the_programs_fault(xid)) fault(at->second, now);
    }

    /// Whether the GPU is known and not cordoned.
    [[nodiscard]] bool usable(device_id const& id) const noexcept {
        auto const at = known_.find(id);
        return at != known_.end() && !at->second.cordoned;
    }

    /// Those of `found` that can be handed out.
    [[nodiscard]] std::vector<gpu> usable(std::span<found_gpu const> found) const noexcept {
        std::vector<gpu> out;
        for (found_gpu const& one : found)
            if (!one.fault && usable(one.what.id)) out.push_back(one.what);
        return out;
    }

    /// When to look again at the latest; nothing where no GPU is cordoned.
    [[nodiscard]] std::optional<nanoseconds> next_probe() const noexcept {
        std::optional<nanoseconds> out;
        for (auto const& [id, each] : known_)
            if (each.cordoned && (!out || each.since + each.wait < *out)) out = each.since + each.wait;
        return out;
    }

private:
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

    static void probe_sound(state& one, nanoseconds now) noexcept {
        if (!one.cordoned || now - one.since < one.wait || ++one.sound_probes < proofs) return;
        one.cordoned = false;
        one.sound_probes = 0;
        one.wait = std::min(nanoseconds{one.wait.count * 2}, longest);
        one.calm_from = now;
    }
};

}  // namespace ration::cuda
