// SPDX-License-Identifier: BSL-1.0
/// What the receiver knows of each job: the incarnation and token it must show, the sequence of each of its senders,
/// its message rate.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <sys/types.h>

#include <ration/progress/message.hpp>

namespace ration::progress {

/// Where every datagram went: `received` is the sum of the eleven fates below it.
struct totals {
    std::uint64_t received = 0;

    std::uint64_t accepted = 0;
    std::uint64_t truncated = 0;  ///< longer than 1024 bytes
    std::uint64_t wrong_uid = 0;  ///< another user's, or without credentials
    std::uint64_t malformed = 0;
    std::uint64_t unknown_job = 0;
    std::uint64_t stale = 0;  ///< of another incarnation
    std::uint64_t wrong_token = 0;
    std::uint64_t wrong_process = 0;  ///< a process outside of the job
    std::uint64_t duplicate = 0;      ///< a sequence number not above the last
    std::uint64_t rate_limited = 0;
    std::uint64_t unknown_type = 0;

    std::uint64_t lost = 0;        ///< gaps in the sequences: sent, never received
    std::uint64_t losses = 0;      ///< finite losses in the accepted steps (sum of c)
    std::uint64_t non_finite = 0;  ///< and those that were not (sum of nf)
};

namespace detail {

/// A cap of `rate` messages per second with as much in one burst; the protocol's own clients send five.
class rate_cap {
    static constexpr double rate = 1000;
    double left_ = rate;
    nanoseconds at_{};

public:
    [[nodiscard]] bool take(nanoseconds now) noexcept {
        left_ = std::min(rate, left_ + rate * std::max(0.0, to_seconds(now - at_)));
        at_ = now;
        bool const granted = left_ >= 1;
        left_ -= granted ? 1 : 0;
        return granted;
    }
};

/// Whether messages come faster than 2000 a second, by tenths of a second.
class message_rate {
    nanoseconds from_{};
    std::uint64_t received_ = 0;  ///< at `from_`
    bool fast_ = false;

public:
    void note(nanoseconds now, std::uint64_t received) noexcept {
        auto const passed = now - from_;
        if (passed < milliseconds(100)) return;
        fast_ = static_cast<double>(received - received_) > 2000 * to_seconds(passed);
        from_ = now;
        received_ = received;
    }
    [[nodiscard]] bool fast() const noexcept { return fast_; }
};

struct sender {
    pid_t process = 0;
    std::uint64_t sequence = 0;  ///< the last one; 0: none yet
    std::uint64_t received = 0;  ///< when, in messages of the job
};

class registry_entry {
public:
    job_id id{};
    incarnation_id run{};
    text<max_word> name{};
    text<max_word> token{};
    totals counts{};
    rate_cap cap{};

    /// A new incarnation: what the old one said is no measure for it. The counts go on.
    void restart(incarnation_id now, std::string_view with) noexcept {
        run = now;
        token = text<max_word>(with);
        cap = {};
        senders_ = {};
        received_ = 0;
        last_step_ = 0;
    }

    /// The known sender of that pid, or nullptr. O(senders).
    [[nodiscard]] sender* find(pid_t process) noexcept {
        auto const at =
            std::ranges::find_if(senders_, [=](auto const& s) { return s.received != 0 && s.process == process; });
        return at == senders_.end() ? nullptr : &*at;
    }

    /// A place for a new sender; beyond the last one, the sender silent for longest gives way.
    [[nodiscard]] sender& add(pid_t process) noexcept {
        auto& oldest = *std::ranges::min_element(senders_, {}, &sender::received);
        oldest = {process, 0, ++received_};
        return oldest;
    }

    /// Takes note of a sequence number: false when it is not above the last one; otherwise `lost` grows by the gap.
    [[nodiscard]] bool in_order(sender& from, message const& reply, std::uint64_t& lost) noexcept {
        // One process may open a second handle, or a second program after an exec: its first message starts afresh.
        bool const fresh = from.sequence == 0 || (reply.sequence == 1 && reply.body.type == message_type::hello);
        if (!fresh && reply.sequence <= from.sequence) return false;
        lost = fresh ? 0 : std::min(reply.sequence - from.sequence - 1, max_count);
        from.sequence = reply.sequence;
        from.received = ++received_;
        return true;
    }

    /// True when the job has gone back to an earlier step.
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
