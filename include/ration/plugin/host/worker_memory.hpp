// SPDX-License-Identifier: BSL-1.0
/// Data that a host keeps for the successor of a worker: the state after an accepted answer, and
/// the events since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ration/event.hpp>
#include <ration/plugin/host/worker_layout.hpp>

namespace ration::plugin {

/// The saved state of a worker, and the events that a new worker has to receive again.
class worker_memory {
    struct reported_event {
        event what;
        std::uint64_t tick;
    };
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    std::vector<reported_event>
        reported_;  // sent, and perhaps not part of the state that a new worker would start with
    std::vector<std::byte> state_;
    // Numbers of ticks: of the last accepted answer, of the last accepted one whose state the
    // worker is known to have saved, and of `state_`.
    std::uint64_t accepted_ = never, saved_ = never, state_tick_ = never;

public:
    /// Allocates for the largest number of events.
    void reserve() { reported_.reserve(2 * most_worker_events); }

    /// The saved state; empty if there is none.
    [[nodiscard]] std::span<std::byte const> state() const noexcept { return state_; }
    /// True if the events since the last saved state are many enough that the worker should save now.
    [[nodiscard]] bool wants_state() const noexcept { return reported_.size() > most_worker_events / 2; }

    /// Records events that were sent with this tick.
    void emit(std::span<event const> events, std::uint64_t tick, nanoseconds now) noexcept {
        for (auto const& e : events) reported_.push_back({e, tick});
        if (reported_.size() > most_worker_events)
            reported_.assign(1, {{.kind = event_kind::state_lost, .at = now}, tick});
    }

    /// Records that the answer of this tick was accepted.
    void accept(std::uint64_t tick) noexcept { accepted_ = tick; }

    /// Called when the next answer is here: the worker has saved the state after the last accepted
    /// one, or never will.
    void see_saved(worker_reply const& r) noexcept {
        if (accepted_ == saved_) return;
        for (std::size_t place = 0; place < 2; ++place)
            if (once(r.state_size[place]) != 0 && once(r.state_tick[place]) == accepted_) saved_ = accepted_;
        if (accepted_ == saved_) std::erase_if(reported_, [&](reported_event const& e) { return e.tick <= saved_; });
    }

    /// Copies the newest state after an accepted answer from a worker that is idle or has ended. It
    /// may have ended before it wrote the later state, so the earlier one is tried first.
    void keep(std::byte const* shared, output_layout const& places) noexcept {
        auto const& r = *reinterpret_cast<worker_reply const*>(shared);
        for (std::uint64_t const wanted : {saved_, accepted_})
            for (std::size_t place = 0; place < 2; ++place) {
                std::uint64_t const size = once(r.state_size[place]);
                if (wanted == never || size == 0 || size > places.state_capacity || once(r.state_tick[place]) != wanted)
                    continue;
                state_.assign(shared + places.state(place), shared + places.state(place) + size);
                state_tick_ = wanted;
            }
    }

    /// Sets a state from outside. It includes all events so far.
    void replace(std::span<std::byte const> saved) noexcept {
        state_.assign(saved.begin(), saved.end());
        state_tick_ = never;
        reported_.clear();
    }

    /// The events that are not part of the state with which a new worker starts; they are removed
    /// here. Without a state the worker starts from the tables.
    [[nodiscard]] std::vector<event> untold() noexcept {
        std::vector<event> again;
        if (!state_.empty())
            for (auto const& e : reported_)
                if (state_tick_ == never || e.tick > state_tick_) again.push_back(e.what);
        reported_.clear();
        return again;
    }
};

}  // namespace ration::plugin
