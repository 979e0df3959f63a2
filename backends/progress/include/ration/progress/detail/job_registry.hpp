// SPDX-License-Identifier: BSL-1.0
/// The receiver's registry of jobs: for each its incarnation, its token, the sequence numbers of
/// its senders, and its message rate.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <sys/types.h>

#include <ration/progress/message.hpp>

namespace ration::progress {

/// Counters of datagrams; `received` is the sum of the eleven outcomes below it.
struct totals {
    std::uint64_t received = 0;

    /// Passed to the sink.
    std::uint64_t accepted = 0;
    std::uint64_t truncated = 0;  ///< longer than 1024 bytes
    std::uint64_t wrong_uid = 0;  ///< of another user, or without credentials
    /// Not a message of P1.
    std::uint64_t malformed = 0;
    /// Names no registered job.
    std::uint64_t unknown_job = 0;
    std::uint64_t stale = 0;  ///< of another incarnation
    /// The token is wrong.
    std::uint64_t wrong_token = 0;
    std::uint64_t wrong_process = 0;  ///< sent by a process outside of the job
    std::uint64_t duplicate = 0;      ///< a sequence number that is not above the last one
    /// Above the rate of a job.
    std::uint64_t rate_limited = 0;
    /// A message of a later version of P1.
    std::uint64_t unknown_type = 0;

    std::uint64_t lost = 0;        ///< gaps in the sequence numbers: sent and never received
    std::uint64_t losses = 0;      ///< finite losses in the accepted steps (sum of c)
    std::uint64_t non_finite = 0;  ///< losses that were not finite (sum of nf)
};

namespace detail {

/// Limits a job to `rate` messages per second, with as many in one burst; the protocol's clients
/// send five.
class rate_cap {
    static constexpr double rate = 1000;
    double left_ = rate;
    nanoseconds at_{};

public:
    /// Returns false if the rate is exceeded.
    [[nodiscard]] bool take(nanoseconds now) noexcept {
        left_ = std::min(rate, left_ + rate * std::max(0.0, to_seconds(now - at_)));
        at_ = now;
        bool const granted = left_ >= 1;
        left_ -= granted ? 1 : 0;
        return granted;
    }
};

/// Measures whether messages arrive faster than 2000 a second, over tenths of a second.
class message_rate {
    nanoseconds from_{};
    std::uint64_t received_ = 0;  ///< at `from_`
    bool fast_ = false;

public:
    /// Called with the number of messages so far.
    void note(nanoseconds now, std::uint64_t received) noexcept {
        auto const passed = now - from_;
        if (passed < milliseconds(100)) return;
        fast_ = static_cast<double>(received - received_) > 2000 * to_seconds(passed);
        from_ = now;
        received_ = received;
    }
    /// True if they arrived faster.
    [[nodiscard]] bool fast() const noexcept { return fast_; }
};

/// A process that sends messages of a job.
struct sender {
    pid_t process = 0;
    std::uint64_t sequence = 0;  ///< of its last message; 0: none yet
    std::uint64_t received = 0;  ///< its last message, counted in messages of the job
};

/// A registered job.
class registry_entry {
public:
    job_id id{};
    incarnation_id run{};
    text<max_word> name{};
    text<max_word> token{};
    uid_t uid = 0;                            ///< of its processes
    text<max_socket_path> control_directory;  ///< of its sockets for commands
    totals counts{};
    rate_cap cap{};

    /// Starts a new incarnation. State of the previous one is discarded; the counts continue.
    void restart(incarnation_id now, std::string_view with) noexcept {
        run = now;
        token = text<max_word>(with);
        cap = {};
        senders_ = {};
        received_ = 0;
        last_step_ = 0;
    }

    /// The known sender with that pid, or nullptr. O(senders).
    [[nodiscard]] sender* find(pid_t process) noexcept {
        auto const at =
            std::ranges::find_if(senders_, [=](auto const& s) { return s.received != 0 && s.process == process; });
        return at == senders_.end() ? nullptr : &*at;
    }

    /// A slot for a new sender; if there is none, that of the sender that was silent for longest.
    [[nodiscard]] sender& add(pid_t process) noexcept {
        auto& oldest = *std::ranges::min_element(senders_, {}, &sender::received);
        oldest = {process, 0, ++received_};
        return oldest;
    }

    /// Records a sequence number. Returns false if it is not above the last one; otherwise `lost`
    /// is the size of the gap.
    [[nodiscard]] bool in_order(sender& from, message const& reply, std::uint64_t& lost) noexcept {
        // A process can open a second handle, or execute another program: its first message starts
        // a new sequence.
        bool const fresh = from.sequence == 0 || (reply.sequence == 1 && reply.body.type == message_type::hello);
        if (!fresh && reply.sequence <= from.sequence) return false;
        lost = fresh ? 0 : std::min(reply.sequence - from.sequence - 1, max_count);
        from.sequence = reply.sequence;
        from.received = ++received_;
        return true;
    }

    /// Records a step. Returns true if it is below the last one.
    [[nodiscard]] bool note_step(std::uint64_t step) noexcept {
        bool const back = step < last_step_;
        last_step_ = step;
        return back;
    }

private:
    std::array<sender, 64> senders_{};
    std::uint64_t received_ = 0;
    std::uint64_t last_step_ = 0;
};

}  // namespace detail

}  // namespace ration::progress
