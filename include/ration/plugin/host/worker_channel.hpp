// SPDX-License-Identifier: BSL-1.0
/// The host's end of the memory in which it exchanges requests and answers with one worker.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <ration/plugin/host/shared_file.hpp>
#include <ration/plugin/host/worker_layout.hpp>
#include <ration/plugin/host/worker_process.hpp>
#include <ration/units.hpp>

namespace ration::plugin {

/// The files `input` and `output`, and the number of the present request. Except for `open`, its functions require
/// that it is open.
class worker_channel {
    shared_file input_, output_;
    output_layout layout_{0, 0};
    std::uint32_t sequence_ = 0;
    bool woken_ = false;          // for this request
    unsigned impatient_for_ = 0;  // answers for which spinning was not enough

public:
    /// Makes new files. Returns false if memory cannot be shared; errno has the cause.
    [[nodiscard]] bool open(std::size_t input_size, output_layout const& layout) noexcept {
        layout_ = layout;
        input_ = shared_file::make("ration-input", input_size, PROT_READ | PROT_WRITE, F_SEAL_FUTURE_WRITE);
        output_ = shared_file::make("ration-output", layout.size(), PROT_READ, 0);
        if (!input_ || !output_) return false;
        sequence_ = 1;
        // Before the worker can read it
        (new (input_.map.data()) worker_request)->sequence.store(sequence_, std::memory_order_release);
        return true;
    }
    /// True if an answer can be read.
    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(output_); }

    /// The files, for the worker.
    [[nodiscard]] int input_fd() const noexcept { return input_.fd.get(); }
    [[nodiscard]] int output_fd() const noexcept { return output_.fd.get(); }

    /// The next request. Columns are behind it, in `input`.
    [[nodiscard]] worker_request& request() noexcept { return *reinterpret_cast<worker_request*>(input_.map.data()); }
    [[nodiscard]] std::byte* input() noexcept { return input_.map.data(); }
    /// The answer, which the worker can change at any time. Grants and state are behind it, in `output`.
    [[nodiscard]] worker_reply const& reply() const noexcept {
        return *reinterpret_cast<worker_reply const*>(output_.map.data());
    }
    [[nodiscard]] std::byte const* output() const noexcept { return output_.map.data(); }
    [[nodiscard]] output_layout const& layout() const noexcept { return layout_; }

    /// The number of the present request; from 1.
    [[nodiscard]] std::uint32_t sequence() const noexcept { return sequence_; }
    /// True if the answer is that of the present request.
    [[nodiscard]] bool is_answered() const noexcept {
        return reply().sequence.load(std::memory_order_acquire) == sequence_;
    }

    /// Sends what `request` has as the next request.
    void send() noexcept {
        request().core.store(present_core(), std::memory_order_relaxed);
        request().sequence.store(++sequence_);  // sequentially consistent: see `await` of the worker
        woken_ = reply().asleep.load() != 0;
        if (woken_) wake(request().sequence);
    }

    /// Waits for an answer, and calls `meanwhile` while it spins. Returns false if the time has passed, and asks the
    /// worker to cancel then, or if the worker has ended.
    template <class Meanwhile>
    [[nodiscard]] bool wait(worker_process& worker, nanoseconds at_most, Meanwhile meanwhile) noexcept {
        std::uint32_t const before = sequence_ - 1;
        if (answers_at_once(before, at_most, meanwhile)) return true;
        nanoseconds const deadline = monotonic_now() + at_most;
        while (reply().sequence.load(std::memory_order_acquire) == before) {
            nanoseconds const left = deadline - monotonic_now();
            if (left.count <= 0) {
                std::atomic_ref(request().cancel).store(1, std::memory_order_relaxed);
                return false;
            }
            wait_while(reply().sequence, before, std::min(left, milliseconds(2)));
            if (!worker.alive()) return reply().sequence.load(std::memory_order_acquire) != before;
        }
        return true;
    }

    /// Waits until the worker has saved its state, which it does after its answer and before the next request.
    void wait_until_saved(worker_process& worker, nanoseconds at_most) const noexcept {
        nanoseconds const deadline = monotonic_now() + at_most;
        for (std::uint32_t kept = 0; (kept = reply().kept.load(std::memory_order_acquire)) != sequence_ &&
                                     monotonic_now() < deadline && worker.alive();)
            wait_while(reply().kept, kept, milliseconds(1));
    }

private:
    /// Spins for as long as most answers take. After a miss, as when the worker needs this core, it spins only briefly
    /// for the next 64 answers, and not at all after it woke the worker. It never spins on the worker's core.
    template <class Meanwhile>
    [[nodiscard]] bool answers_at_once(std::uint32_t before, nanoseconds at_most, Meanwhile& meanwhile) noexcept {
        if (is_on_this_core(reply().core)) return is_answered();
        constexpr nanoseconds long_wait = milliseconds(5);
        bool const patient = impatient_for_ == 0;
        nanoseconds const patience = patient ? long_wait : woken_ ? nanoseconds{} : short_wait;
        bool const came = spin_while(reply().sequence, before, std::min(patience, at_most), meanwhile);
        impatient_for_ = came ? 0 : patient ? 64 : impatient_for_ - 1;
        return came;
    }
};

}  // namespace ration::plugin
