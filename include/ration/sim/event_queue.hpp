// SPDX-License-Identifier: BSL-1.0
/// The queue of future events of a simulation, in an order that is the same on all machines.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/units.hpp>

namespace ration::sim {

/// The class of an event. At equal times job phases end first, so that their devices are free for
/// arrivals.
enum class event_class : std::uint32_t { job_phase = 0, fault = 1 };

/// One event of a simulation. Events of equal time have a fixed order.
struct sim_event {
    /// The simulated time.
    nanoseconds at{};
    /// Its class.
    event_class what = event_class::job_phase;
    std::uint32_t subject = 0;  ///< index of the job or of the fault
    std::uint32_t version = 0;  ///< of the job's allocation; an event of an earlier version is void
    std::uint32_t row = 0;      ///< of the job; not a part of the order
};

/// A heap in which each node has four children. Equal times are ordered by class and subject, so
/// the order does not depend on the order of insertion. O(log n) for each operation; it allocates
/// only when it exceeds its largest size.
class event_queue {
    static constexpr std::size_t arity = 4;
    buffer<sim_event> heap_;

    [[nodiscard]] static bool before(sim_event const& a, sim_event const& b) noexcept {
        if (a.at != b.at) return a.at < b.at;
        if (a.what != b.what) return a.what < b.what;
        return a.subject != b.subject ? a.subject < b.subject : a.version < b.version;
    }

public:
    /// Allocates for this number of events.
    void reserve(std::size_t events) { heap_.reserve(events); }
    /// Removes all events.
    void clear() noexcept { heap_.clear(); }
    /// True without events.
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    /// The number of events.
    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
    /// The earliest event. Precondition: not empty.
    [[nodiscard]] sim_event const& next() const noexcept { return heap_[0]; }

    /// Sets `row` of each event to `row_of(event)`. O(events).
    template <class RowOf>
    void move_rows(RowOf const& row_of) noexcept {
        for (auto& e : heap_) e.row = row_of(e);
    }

    /// Adds an event.
    void push(sim_event const& e) noexcept {
        heap_.push_back(e);
        std::size_t i = heap_.size() - 1;
        for (; i > 0 && before(e, heap_[(i - 1) / arity]); i = (i - 1) / arity) heap_[i] = heap_[(i - 1) / arity];
        heap_[i] = e;
    }

    /// Removes the earliest event. Precondition: not empty.
    void pop() noexcept {
        sim_event const last = heap_.back();
        heap_.resize(heap_.size() - 1);
        if (heap_.empty()) return;
        std::size_t i = 0;
        for (;;) {
            std::size_t const first = i * arity + 1;
            if (first >= heap_.size()) break;
            std::size_t least = first;
            for (std::size_t c = first + 1; c < first + arity && c < heap_.size(); ++c)
                if (before(heap_[c], heap_[least])) least = c;
            if (!before(heap_[least], last)) break;
            heap_[i] = heap_[least];
            i = least;
        }
        heap_[i] = last;
    }
};

}  // namespace ration::sim
