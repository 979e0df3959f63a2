// SPDX-License-Identifier: BSL-1.0
/// The future of a simulation: what happens next, in one order for all machines.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/units.hpp>

namespace ration::sim {

/// At one time ends come first, so that what they free is there for whoever comes.
enum class event_class : std::uint32_t { job_phase = 0, fault = 1 };

/// One event of a simulation. Events of equal time have a fixed order.
struct sim_event {
    nanoseconds at{};
    event_class what = event_class::job_phase;
    std::uint32_t subject = 0;  ///< which job, or which fault
    std::uint32_t version = 0;  ///< of the job's allocation; an event of an earlier one is void
};

/// A heap with four children to a node. Equal times are ordered by class and subject, so that no order depends on how
/// events came in. O(log n) each; allocates only when it grows beyond its largest size.
class event_queue {
    static constexpr std::size_t arity = 4;
    buffer<sim_event> heap_;

    [[nodiscard]] static bool before(sim_event const& a, sim_event const& b) noexcept {
        if (a.at != b.at) return a.at < b.at;
        if (a.what != b.what) return a.what < b.what;
        return a.subject != b.subject ? a.subject < b.subject : a.version < b.version;
    }

public:
    void reserve(std::size_t events) { heap_.reserve(events); }
    void clear() noexcept { heap_.clear(); }
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
    [[nodiscard]] sim_event const& next() const noexcept { return heap_[0]; }

    void push(sim_event const& e) noexcept {
        heap_.push_back(e);
        std::size_t i = heap_.size() - 1;
        for (; i > 0 && before(e, heap_[(i - 1) / arity]); i = (i - 1) / arity) heap_[i] = heap_[(i - 1) / arity];
        heap_[i] = e;
    }

    /// Precondition: not empty.
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
