// SPDX-License-Identifier: BSL-1.0
/// What a host keeps of a worker for the one that may come after it: the state after an accepted answer, and what has
/// happened since.
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
        reported_;  // told, and perhaps not known to the state that a new worker would begin with
    std::vector<std::byte> state_;
    // Numbers of ticks: whose answer was the last one accepted, after which accepted one the worker is known to have
    // saved, and that of `state_`.
    std::uint64_t accepted_ = never, saved_ = never, state_tick_ = never;

public:
    void reserve() { reported_.reserve(2 * most_worker_events); }

    [[nodiscard]] std::span<std::byte const> state() const noexcept { return state_; }
    /// So much was told since the last saved state that it is time for one.
    [[nodiscard]] bool wants_state() const noexcept { return reported_.size() > most_worker_events / 2; }

    void emit(std::span<event const> events, std::uint64_t tick, nanoseconds now) noexcept {
        for (auto const& e : events) reported_.push_back({e, tick});
        if (reported_.size() > most_worker_events)
            reported_.assign(1, {{.kind = event_kind::state_lost, .at = now}, tick});
    }

    void accept(std::uint64_t tick) noexcept { accepted_ = tick; }

    /// The next answer is here, so the worker has saved the state after the last accepted one, or never will.
    void see_saved(worker_reply const& r) noexcept {
        if (accepted_ == saved_) return;
        for (std::size_t place = 0; place < 2; ++place)
            if (once(r.state_size[place]) != 0 && once(r.state_tick[place]) == accepted_) saved_ = accepted_;
        if (accepted_ == saved_) std::erase_if(reported_, [&](reported_event const& e) { return e.tick <= saved_; });
    }

    /// The newest state that came after an accepted answer, out of a worker that is idle or dead: it may have died
    /// before it wrote the later one.
    void keep(std::byte const* shared, output_paths const& places) noexcept {
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

    /// A state from elsewhere: all that was told is part of it.
    void replace(std::span<std::byte const> saved) noexcept {
        state_.assign(saved.begin(), saved.end());
        state_tick_ = never;
        reported_.clear();
    }

    /// What the state does not know of that a new worker begins with, and is not told again. Without a state it begins
    /// with the tables.
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
