// SPDX-License-Identifier: BSL-1.0
/// The receiving end of protocol P1: one socket per run, every datagram proved or counted among the refused. Linux.
#pragma once

#include <algorithm>
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

/// Takes messages from the jobs of one run and hands on what is proved to be theirs.
///
/// A message counts when the kernel says that its sender runs as this user, it reads as P1, it names a registered job
/// with the present incarnation and token, `belongs` says that the sending process is the job's, its sequence number is
/// new, and the job keeps below 1000 messages a second. Everything else is dropped and counted. Not safe for use by
/// several threads at once.
class receiver {
public:
    /// Binds the socket (mode 0600); its directory is made (mode 0700) if need be. The file goes when the receiver
    /// does. `path`: absolute, at most 107 bytes. Errors: `invalid_value`, `out_of_range`, `denied`, `already_exists`,
    /// `io`.
    [[nodiscard]] static result<receiver> open(std::string_view path) noexcept {
        auto opened = detail::message_socket::open(path);
        if (!opened) return opened.failure();
        return receiver(std::move(*opened));
    }

    /// To be polled for reading (level-triggered).
    [[nodiscard]] int fd() const noexcept { return socket_->fd(); }
    [[nodiscard]] std::string_view path() const noexcept { return socket_->path(); }

    /// Makes a job known, or starts its next incarnation: then its older messages are stale and its sequences begin
    /// anew. `name` is what the job finds in RATION_JOB, at most 64 characters of printable ASCII without '='; `token`:
    /// 16 to 64 of them. Errors: `invalid_value`, `already_exists` (the name or the id is another's), `conflict` (the
    /// incarnation is not a later one).
    [[nodiscard]] result<void> register_job(job_id id, std::string_view name, incarnation_id run,
                                            std::string_view token) noexcept {
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
            return refused(errc::already_exists, name, "each job needs a name and an id of its own");
        if (named && run <= place->run)
            return refused(errc::conflict, name,
                           "every launch of a job needs a higher incarnation than the one before");
        auto const entry = named ? place : jobs_.emplace(place);
        entry->id = id;
        entry->name = text<max_word>(name);
        entry->restart(run, token);
        return {};
    }

    /// The job is over: what still comes from it is of an unknown job. Its counts stay in `counts()`.
    void forget(job_id id) noexcept {
        std::erase_if(jobs_, [=](auto const& entry) { return entry.id == id; });
    }

    /// Hands on what has come, at most 256 messages, so that the caller's other work is not starved. Never waits.
    /// `belongs(job, pid)`: is this process the job's? Asked once per process and incarnation (and again when the table
    /// of 64 senders per job overflows). `sink(update const&)`: its texts live until it returns. True when more may be
    /// waiting. `now`: any clock that does not go back. Errors: `io`.
    template <std::predicate<job_id, pid_t> Belongs, std::invocable<update const&> Sink>
    [[nodiscard]] result<bool> drain(nanoseconds now, Belongs&& belongs, Sink&& sink) noexcept {
        message_rate_.note(now, counts_.received);
        for (int round = 0; round < 8; ++round) {
            auto const count = socket_->receive();
            if (!count) return count.failure();
            for (std::size_t at = 0; at < *count; ++at) take(socket_->at(at), now, belongs, sink);
            if (*count < detail::message_socket::batch) return false;
        }
        return true;
    }

    /// How long to leave the socket alone before it is polled again: nothing as long as messages come singly. When they
    /// come by the thousands, 400 us let some gather, for waking up costs more than a message does; the kernel's queue
    /// holds eleven.
    [[nodiscard]] nanoseconds rest() const noexcept {
        return message_rate_.fast() ? nanoseconds{400'000} : nanoseconds{};
    }

    [[nodiscard]] totals const& counts() const noexcept { return counts_; }

    /// Those of one job, over all its incarnations; nullptr for one that is not registered. Valid until the next
    /// `register_job`.
    [[nodiscard]] totals const* counts_of(job_id id) const noexcept {
        auto const at = std::ranges::find(jobs_, id, &detail::registry_entry::id);
        return at == jobs_.end() ? nullptr : &at->counts;
    }

private:
    using outcome = std::uint64_t totals::*;

    explicit receiver(std::unique_ptr<detail::message_socket> opened) noexcept
        : socket_(std::move(opened)), uid_(::geteuid()) {}

    [[nodiscard]] static error refused(errc code, std::string_view name, char const* remedy) noexcept {
        auto out = detail::bad_message(name, remedy);
        out.code = code;
        out.operation = "register a job for progress messages";
        return out;
    }

    /// Where the job of that name is or would have to be: the list is sorted by name. O(log jobs).
    [[nodiscard]] std::vector<detail::registry_entry>::iterator find(std::string_view name) noexcept {
        return std::ranges::lower_bound(jobs_, name, {}, [](auto const& entry) { return entry.name.view(); });
    }

    /// Commands are only ever sent into the directory that nobody else can enter, and never back to this socket.
    [[nodiscard]] bool is_ours(std::string_view control) const noexcept {
        return control.empty() ||
               (control.substr(0, control.rfind('/')) == socket_->directory() && control != socket_->path());
    }

    void count(detail::registry_entry* job, outcome where, std::uint64_t amount = 1) noexcept {
        counts_.*where += amount;
        if (job != nullptr) job->counts.*where += amount;
    }

    template <class Belongs, class Sink>
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

    /// The one counter that this datagram belongs to. `job` is set as soon as it is known.
    template <class Belongs>
    [[nodiscard]] outcome classify(detail::datagram const& came, nanoseconds now, Belongs& belongs,
                                   detail::registry_entry*& job, message& incoming) noexcept {
        if (came.truncated) return &totals::truncated;
        if (!came.signed_by_kernel || came.sender.uid != uid_) return &totals::wrong_uid;
        auto const read = parse_message(came.bytes);
        if (!read || !is_ours(read->body.control)) return &totals::malformed;
        incoming = *read;
        auto const place = find(incoming.job);
        if (place == jobs_.end() || place->name != incoming.job) return &totals::unknown_job;
        job = &*place;
        if (incoming.run != job->run) return &totals::stale;
        if (job->token != incoming.token) return &totals::wrong_token;
        return classify_sender(came.sender.pid, now, belongs, *job, incoming);
    }

    template <class Belongs>
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

    std::unique_ptr<detail::message_socket> socket_;
    uid_t uid_;
    detail::message_rate message_rate_;
    std::vector<detail::registry_entry> jobs_;
    totals counts_;
};

}  // namespace ration::progress
