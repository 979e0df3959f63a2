// SPDX-License-Identifier: BSL-1.0
/// The receiving end of protocol P1: one socket for each user of the jobs of a run. Every datagram is validated, and
/// counted under its outcome. Linux.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/progress/detail/job_registry.hpp>
#include <ration/progress/detail/message_socket.hpp>

namespace ration::progress {

/// The user of a job, and where the job takes commands.
struct job_user {
    uid_t uid = 0;
    std::string_view control_directory = {};  ///< absolute; its sockets are there
};

/// Receives messages from the jobs of one run, and forwards valid ones.
///
/// A message is valid if all of these hold: it is a message of P1; it names a registered job; the
/// kernel reports that its sender runs as the user of this job; incarnation and token are the present ones;
/// `belongs` confirms that the process belongs to the job; its sequence number is new; and the job
/// sends fewer than 1000 messages a second. All others are dropped and counted. For one thread at a
/// time.
class receiver {
public:
    /// Binds the socket of this user's jobs (mode 0600), and creates its directory (mode 0700, for everybody 0711) if
    /// necessary. Jobs of another user get a socket beside it, which that user can write to, so that no user can fill
    /// the queue of another. The files are removed with the receiver. `path` is absolute, with at most 107 bytes.
    /// Errors: `invalid_value`, `out_of_range`, `denied`, `already_exists`, `io`.
    [[nodiscard]] static result<receiver> open(std::string_view path, audience senders = audience::owner) noexcept {
        auto opened = detail::message_socket::open(path, senders);
        if (!opened) return opened.failure();
        return receiver(std::move(*opened), senders);
    }

    /// The descriptor of this user's socket, to be polled for reading (level-triggered).
    [[nodiscard]] int fd() const noexcept { return sockets_.front().socket->fd(); }
    /// Calls `poll(int fd)` with the descriptor of each socket that may be read at `now`. Returns when the next of the
    /// others may be, as a socket with thousands of messages a second rests meanwhile. O(users).
    template <std::invocable<int> Poll>
    nanoseconds join(nanoseconds now, Poll&& poll) const noexcept {
        nanoseconds until{INT64_MAX};
        for (auto const& one : sockets_)
            if (one.rests_until > now)
                until = std::min(until, one.rests_until);
            else
                poll(one.socket->fd());
        return until;
    }
    /// The path of this user's socket, for RATION_PROGRESS.
    [[nodiscard]] std::string_view path() const noexcept { return sockets_.front().socket->path(); }
    /// The path of the socket of another user, whose name is the number of the user, beside that of `path`.
    [[nodiscard]] static text<max_socket_path + 12> path_of(std::string_view path, uid_t user) noexcept {
        std::array<char, max_socket_path + 12> out{};
        auto const directory = path.substr(0, path.rfind('/') + 1);
        auto const end = std::to_chars(out.data() + directory.copy(out.data(), max_socket_path), out.end(), user).ptr;
        return text<max_socket_path + 12>({out.data(), static_cast<std::size_t>(end - out.data())});
    }

    /// Registers a job, or its next incarnation, of `user`, or of this user with
    /// sockets beside that of the receiver; messages of the earlier one are stale then,
    /// and sequence numbers start again. `name` is the job's RATION_JOB: at most 64 characters of printable ASCII
    /// without '='. `token` has 16 to 64 of them. Errors: `invalid_value`; `already_exists` (another job has the name
    /// or the id); `conflict` (the incarnation is not a later one); those of `open`.
    [[nodiscard]] result<void> register_job(job_id id, std::string_view name, incarnation_id run,
                                            std::string_view token, job_user const* user = nullptr) noexcept {
        if (!is_word(name) || name.size() > max_word) {
            return refused(errc::invalid_value, name,
                           "a name is 1 to 64 printable ASCII characters without space or '='");
        }
        if (!is_word(token) || token.size() < 16 || token.size() > max_word) {
            return refused(errc::invalid_value, name,
                           "a token is 16 to 64 printable ASCII characters without space or '='");
        }
        auto const known = std::ranges::find(jobs_, id, &detail::registry_entry::id);
        auto const place = find(name);
        bool const named = place != jobs_.end() && place->name == name;
        if (known != jobs_.end() ? !named || place != known : named)
            return refused(errc::already_exists, name, "each job needs a unique name and id");
        if (named && run <= place->run)
            return refused(errc::conflict, name,
                           "every launch of a job needs a higher incarnation than the one before");
        if (auto const heard = open_socket_of(user != nullptr ? user->uid : uid_); !heard) return heard;
        auto const entry = named ? place : jobs_.emplace(place);
        entry->id = id;
        entry->name = text<max_word>(name);
        entry->uid = user != nullptr ? user->uid : uid_;
        entry->control_directory = user != nullptr ? user->control_directory : sockets_.front().socket->directory();
        entry->restart(run, token);
        return {};
    }

    /// Removes a job; later messages of it count as `unknown_job`. Its counts remain in `counts()`. The socket of
    /// another user goes with the last job.
    void forget(job_id id) noexcept {
        std::erase_if(jobs_, [=](auto const& entry) { return entry.id == id; });
        std::erase_if(sockets_, [&](inlet const& one) {
            return one.user != uid_ && std::ranges::find(jobs_, one.user, &detail::registry_entry::uid) == jobs_.end();
        });
    }

    /// Receives at most 256 messages of each user, so that other work of the caller is not delayed. Never
    /// blocks. Returns true if more may be waiting.
    ///
    /// `belongs(job, pid)` returns whether a process belongs to a job. It is called once per process
    /// and incarnation, and again when the table of 64 senders per job overflows. The texts of an
    /// update are valid until `sink(update const&)` returns. `now` is any clock that never
    /// decreases. Error: `io`.
    template <std::predicate<job_id, pid_t> Belongs, std::invocable<update const&> Sink>
    [[nodiscard]] result<bool> drain(nanoseconds now, Belongs&& belongs, Sink&& sink) noexcept {
        bool more = false;
        for (auto& one : sockets_) {
            auto const left = drain_one(one, now, belongs, sink);
            if (!left) return left;
            more |= *left;
        }
        return more;
    }

    /// The time for which to leave the socket of this user alone before the next poll: 0 for single messages.
    /// When thousands arrive, waiting 400 us collects some, since waking up costs more than a
    /// message; the kernel's queue holds eleven.
    [[nodiscard]] nanoseconds rest() const noexcept { return sockets_.front().rest(); }

    /// The counters of all datagrams.
    [[nodiscard]] totals const& counts() const noexcept { return counts_; }

    /// The counters of one job over all its incarnations; nullptr if it is not registered. Valid
    /// until the next `register_job`.
    [[nodiscard]] totals const* counts_of(job_id id) const noexcept {
        auto const at = std::ranges::find(jobs_, id, &detail::registry_entry::id);
        return at == jobs_.end() ? nullptr : &at->counts;
    }

private:
    /// A counter, as the outcome of a datagram.
    using outcome = std::uint64_t totals::*;

    /// The socket of a user.
    struct inlet {
        uid_t user;
        std::unique_ptr<detail::message_socket> socket;
        std::uint64_t received = 0;
        detail::message_rate rate{};
        nanoseconds rests_until{};

        [[nodiscard]] nanoseconds rest() const noexcept { return rate.fast() ? nanoseconds{400'000} : nanoseconds{}; }
    };

    receiver(std::unique_ptr<detail::message_socket> opened, audience senders) noexcept
        : senders_(senders), uid_(::geteuid()) {
        sockets_.push_back({uid_, std::move(opened)});
    }

    /// Nothing if the user has a socket.
    [[nodiscard]] result<void> open_socket_of(uid_t user) noexcept {
        if (std::ranges::find(sockets_, user, &inlet::user) != sockets_.end()) return {};
        auto opened = detail::message_socket::open(path_of(path(), user).view(), senders_, user);
        if (!opened) return opened.failure();
        sockets_.push_back({user, std::move(*opened)});
        return {};
    }

    /// Receives at most 256 messages through a socket. Returns true if more may be waiting.
    template <class Belongs, class Sink>
    [[nodiscard]] result<bool> drain_one(inlet& from, nanoseconds now, Belongs& belongs, Sink& sink) noexcept {
        bool more = true;
        for (int round = 0; more && round < 8; ++round) {
            auto const count = from.socket->receive();
            if (!count) return count.failure();
            from.received += *count;
            for (std::size_t at = 0; at < *count; ++at) take(from.socket->at(at), now, belongs, sink);
            more = *count == detail::message_socket::batch;
        }
        from.rate.note(now, from.received);
        from.rests_until = now + from.rest();
        return more;
    }

    /// An error of a registration.
    [[nodiscard]] static error refused(errc code, std::string_view name, char const* remedy) noexcept {
        auto out = detail::bad_message(name, remedy);
        out.code = code;
        out.operation = "register a job for progress messages";
        return out;
    }

    /// The place of a name in the sorted list. O(log jobs).
    [[nodiscard]] std::vector<detail::registry_entry>::iterator find(std::string_view name) noexcept {
        return std::ranges::lower_bound(jobs_, name, {}, [](auto const& entry) { return entry.name.view(); });
    }

    /// True if a command socket is in the directory of its job, and is not this socket.
    [[nodiscard]] bool is_of(detail::registry_entry const& job, std::string_view control) const noexcept {
        return control.empty() ||
               (control.substr(0, control.rfind('/')) == job.control_directory.view() && control != path());
    }

    /// Counts for the run and, if it is known, for the job.
    void count(detail::registry_entry* job, outcome where, std::uint64_t amount = 1) noexcept {
        counts_.*where += amount;
        if (job != nullptr) job->counts.*where += amount;
    }

    template <class Belongs, class Sink>
    /// Processes one datagram.
    void take(detail::datagram const& came, nanoseconds now, Belongs& belongs, Sink& sink) noexcept {
        detail::registry_entry* job = nullptr;
        message incoming;
        auto const where = classify(came, now, belongs, job, incoming);
        count(job, &totals::received);
        count(job, where);
        if (where != &totals::accepted) return;
        update out{job->id, job->run, incoming.rank, came.sender.pid, false, incoming.body};
        if (incoming.body.type == message_type::step) {
            out.rollback = job->note_step(incoming.body.step);
            count(job, &totals::losses, incoming.body.loss_count);
            count(job, &totals::non_finite, incoming.body.non_finite);
        }
        sink(std::as_const(out));
    }

    /// Validates a datagram, and returns its counter. `job` is set as soon as it is known.
    template <class Belongs>
    [[nodiscard]] outcome classify(detail::datagram const& came, nanoseconds now, Belongs& belongs,
                                   detail::registry_entry*& job, message& incoming) noexcept {
        if (came.truncated) return &totals::truncated;
        if (!came.signed_by_kernel) return &totals::wrong_uid;
        auto const read = parse_message(came.bytes);
        if (!read) return came.sender.uid == uid_ ? &totals::malformed : &totals::wrong_uid;
        incoming = *read;
        auto const place = find(incoming.job);
        bool const known = place != jobs_.end() && place->name == incoming.job;
        if (came.sender.uid != (known ? place->uid : uid_)) return &totals::wrong_uid;
        if (!known) return &totals::unknown_job;
        if (!is_of(*place, incoming.body.control)) return &totals::malformed;
        job = &*place;
        if (incoming.run != job->run) return &totals::stale;
        if (job->token != incoming.token) return &totals::wrong_token;
        return classify_sender(came.sender.pid, now, belongs, *job, incoming);
    }

    template <class Belongs>
    /// Validates the sender and its sequence number.
    [[nodiscard]] outcome classify_sender(pid_t process, nanoseconds now, Belongs& belongs, detail::registry_entry& job,
                                          message const& incoming) noexcept {
        auto* from = job.find(process);
        if (from == nullptr) {
            if (!belongs(job.id, process)) return &totals::wrong_process;
            from = &job.add(process);
        }
        std::uint64_t gap = 0;
        if (!job.in_order(*from, incoming, gap)) return &totals::duplicate;
        count(&job, &totals::lost, gap);
        if (!job.cap.take(now)) return &totals::rate_limited;
        return incoming.body.type == message_type::unknown ? &totals::unknown_type : &totals::accepted;
    }

    audience senders_;
    uid_t uid_;
    std::vector<inlet> sockets_;  ///< first that of this user
    std::vector<detail::registry_entry> jobs_;
    totals counts_;
};

}  // namespace ration::progress
