// SPDX-License-Identifier: BSL-1.0
/// The results of a resize for its caller: orders to carry out, and notes for the event log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events/events.hpp"
#include "run/resize_phase.hpp"
#include "run/run_devices.hpp"

namespace ration::program {

/// A step that the caller carries out, in the order of the list.
enum class resize_order : std::uint8_t {
    save,       ///< C1 save hold=1
    go,         ///< C1 go: the resize is aborted
    stop,       ///< C1 stop
    terminate,  ///< SIGTERM
    kill,       ///< SIGKILL to all processes of the job
    launch,     ///< with the devices that the job holds, in a new incarnation
    refuse,     ///< the job cannot run with its devices and fails; `why()` has the reason
};

/// The order with which a phase begins.
[[nodiscard]] constexpr std::optional<resize_order> order_of(resize_phase phase) noexcept {
    switch (phase) {
        case resize_phase::starting: return resize_order::launch;
        case resize_phase::saving: return resize_order::save;
        case resize_phase::stopping: return resize_order::stop;
        case resize_phase::terminating: return resize_order::terminate;
        case resize_phase::killing: return resize_order::kill;
        case resize_phase::queued:
        case resize_phase::steady:
        case resize_phase::clearing:
        case resize_phase::over: break;
    }
    return std::nullopt;
}

/// One transition, for the event log.
struct resize_note {
    resize_step what = resize_step::settled;
    std::int64_t from = 0, to = 0;
    std::string why;      ///< may be empty
    device_list devices;  ///< of its process, or of the next launch
};

class resize_outbox {
    std::vector<resize_order> orders_;
    std::vector<resize_note> notes_;
    std::string why_;

public:
    void order(resize_order what) { orders_.push_back(what); }
    void refuse(std::string why) {
        why_ = std::move(why);
        order(resize_order::refuse);
    }
    void add(resize_note what) { notes_.push_back(std::move(what)); }

    /// Of the last order to refuse the job.
    [[nodiscard]] std::string const& why() const noexcept { return why_; }
    [[nodiscard]] std::vector<resize_order> take_orders() { return std::exchange(orders_, {}); }
    [[nodiscard]] std::vector<resize_note> take_notes() { return std::exchange(notes_, {}); }
};

}  // namespace ration::program
