// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster_nodes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "common/error_text.hpp"
#include "common/printable.hpp"

namespace ration::program {
namespace {

constexpr nanoseconds first_pause = milliseconds(500);
constexpr int most_starts = 4, most_doublings = 6;
constexpr nanoseconds kill_patience = seconds(5), hello_patience = seconds(5), retry_pause = milliseconds(100);
/// Between two calls of `advance`, which a run makes several times in a second.
constexpr nanoseconds shortest_suspend = seconds(10);
constexpr nanoseconds long_time = seconds(60);
constexpr std::size_t most_node_devices = 4096;

void send_task(node_link& link, cluster_task const& task, bool reattach) {
    auto hello = task.hello;
    hello.node = link.name();
    hello.reattach = reattach;
    link.send(hello);
    std::string_view left = task.file;
    while (!left.empty()) {
        auto part = left.substr(0, file_part_bytes);
        // A character of several bytes stays in one message
        while (part.size() > 1 && part.size() < left.size() &&
               (static_cast<unsigned char>(left[part.size()]) & 0xC0) == 0x80)
            part.remove_suffix(1);
        link.send(file_order{std::string(part)});
        left.remove_prefix(part.size());
    }
    link.send(begin_order{.backend = task.backend, .cpus = link.spec().cpus, .devices = link.spec().devices});
}

void warn_of(node_link const& link, std::string_view sentence, event_sink& events, nanoseconds now) {
    events.warn_once("node " + link.name(), printable(std::string(sentence.substr(0, 500))), now);
}

[[nodiscard]] std::string_view sentence_on_loss(bool has_ended) {
    return has_ended
               ? "it has ended its jobs, since no message of this run came within its lease; it is started again, "
                 "and they continue from their last checkpoints"
               : "it is lost; its jobs continue from their last checkpoints on any node that answers";
}

[[nodiscard]] std::string_view sentence_on_end(bool has_ended) {
    return has_ended ? "it has ended by order, as after SIGTERM; it is left out"
                     : "its command has sent no message; it is left out, so test the command of --nodes by hand";
}

/// In messages that are short enough.
void send_list(node_link& link, jobs_order list) {
    auto const all = std::exchange(list.jobs, {});
    for (auto const& job : all) {
        if (list.jobs.size() == jobs_in_message) {
            list.more = true;
            link.send(list);
            list.jobs.clear();
        }
        list.jobs.push_back(job);
    }
    list.more = false;
    link.send(list);
}

}  // namespace

cluster_nodes::cluster_nodes(std::vector<node_spec> specs, std::size_t jobs, node_times times, cluster_task task,
                             event_sink& events)
    : registry_(specs.size(), jobs, times), task_(std::move(task)), events_(events) {
    for (auto& spec : specs) members_.push_back({.link = node_link(std::move(spec))});
}

void cluster_nodes::start(bool reattach, nanoseconds now) {
    for (std::size_t node = 0; node < members_.size(); ++node) {
        members_[node].was_up = reattach;
        start(node, now);
    }
}

void cluster_nodes::start(std::size_t node, nanoseconds now) {
    auto& m = members_[node];
    m.restart_at.reset();
    m.started = now;
    ++m.starts;
    auto const started = m.link.start();
    registry_.start(node, m.link.session(), now);
    if (!started) {
        warn_of(m.link, to_text(started.failure()), events_, now);
        return close(node, now);
    }
    m.lists = 0;
    send_task(m.link, task_, m.was_up);
}

void cluster_nodes::join(std::vector<pollfd>& fds) {
    for (auto& m : members_) {
        auto* const channel = m.link.channel();
        if (channel == nullptr) continue;
        fds.push_back({channel->input(), POLLIN, 0});
        if (channel->has_unsent()) fds.push_back({channel->output(), POLLOUT, 0});
    }
}

nanoseconds cluster_nodes::next_wakeup(nanoseconds now) const noexcept {
    auto next = std::min(registry_.next_change(), now + task_.hello.beat);
    for (std::size_t node = 0; node < members_.size(); ++node) {
        auto const& m = members_[node];
        if (m.restart_at) next = std::min(next, std::max(*m.restart_at, now + retry_pause));
        bool const has_list = m.dirty && !registry_.awaits_report(node);
        if (has_list && !m.link.session().empty()) next = std::min(next, now);
    }
    return next;
}

void cluster_nodes::receive(report_handler const& handle, nanoseconds now) {
    for (std::size_t node = 0; node < members_.size(); ++node) {
        auto& link = members_[node].link;
        if (link.channel() == nullptr) continue;
        link.channel()->flush();  // a jobs file can be larger than a pipe
        link.receive([&](node_report&& report) { take(node, std::move(report), handle, now); },
                     [&](std::string const& sentence) { warn_of(link, sentence, events_, now); });
        bool const is_open = link.channel() != nullptr && !link.channel()->at_end();
        if (!is_open) close(node, now);
        show_state(node, now);
    }
}

void cluster_nodes::take(std::size_t node, node_report&& report, report_handler const& handle, nanoseconds now) {
    if (auto* const error = std::get_if<error_report>(&report))
        return warn_of(members_[node].link, error->message, events_, now);
    if (auto* const hello = std::get_if<hello_report>(&report)) return take_hello(node, std::move(*hello), now);
    if (!registry_.message(node, members_[node].link.session(), now)) return;
    if (auto const* const ended = std::get_if<ended_report>(&report)) {
        members_[node].has_ended = true;
        return registry_.ended(node, ended->without_lease ? node_end::without_lease : node_end::by_order);
    }
    if (auto const* const state = std::get_if<state_report>(&report))
        members_[node].devices = std::clamp<std::int64_t>(state->devices, 0, std::ssize(members_[node].facts.devices));
    handle(node, std::move(report));
}

void cluster_nodes::take_hello(std::size_t node, hello_report&& hello, nanoseconds now) {
    auto& m = members_[node];
    if (hello.version != wire_version) {
        warn_of(m.link, version_sentence(hello.version), events_, now);
        return m.link.close();
    }
    if (hello.node != m.link.name() || hello.devices.empty() || hello.devices.size() > most_node_devices) {
        warn_of(m.link,
                "its first message names another node, or no devices; use the same version of ration on all nodes",
                events_, now);
        return m.link.close();
    }
    if (!registry_.hello(node, m.link.session(), now, hello.reattached)) return;
    if (m.calls > 0) m.starts = 1;
    m.calls = 0;
    m.was_up = true;
    m.has_ended = false;
    m.up_since = now;
    m.devices = std::ssize(hello.devices);
    m.facts = std::move(hello);
    m.dirty = true;
}

/// The command is started again, after a pause, as long as its jobs can be alive; `keep_starting` does so after that.
void cluster_nodes::close(std::size_t node, nanoseconds now) {
    auto& m = members_[node];
    m.link.close();
    m.link.end_command(false);
    auto const before = registry_.state(node);
    registry_.closed(node);
    if (ending_ || registry_.state(node) != node_state::suspect) return;
    bool const was_up = before == node_state::up || before == node_state::suspect;
    if (was_up && now - m.up_since >= long_time) m.starts = 1;
    if (m.starts < most_starts) m.restart_at = now + nanoseconds{first_pause.count << m.starts};
    warn_of(m.link, m.restart_at ? "its command has ended; it is started again" : "its command has ended", events_,
            now);
}

bool cluster_nodes::advance(nanoseconds now) {
    auto const before = std::exchange(last_advance_, lease_clock());
    bool const was_suspended = last_advance_ - before >= shortest_suspend;
    if (was_suspended) registry_.resume(now);
    registry_.advance(now);
    for (std::size_t node = 0; node < members_.size(); ++node) {
        if (!ending_) keep_starting(node, now);
        show_state(node, now);
    }
    return was_suspended;
}

/// A node that was lost is started again until it answers, after ever longer pauses.
void cluster_nodes::keep_starting(std::size_t node, nanoseconds now) {
    auto& m = members_[node];
    auto const state = registry_.state(node);
    if ((state == node_state::lost || state == node_state::gone) && m.link.channel() != nullptr) {
        m.link.close();
        m.link.end_command(false);
    }
    if (state == node_state::lost && (!m.restart_at || m.was_up)) {
        m.was_up = false;
        m.devices = 0;
        m.restart_at = now + nanoseconds{first_pause.count << std::min(++m.calls, most_doublings)};
    }
    if (!m.restart_at || now < *m.restart_at) return;
    if (state != node_state::lost && state != node_state::suspect) return m.restart_at.reset();
    if (m.link.has_ended()) return start(node, now);
    // The command of a lost node may hang; that of another one may end the jobs of its agent
    if (state == node_state::lost && now >= *m.restart_at + kill_patience) m.link.end_command(true);
}

void cluster_nodes::show_state(std::size_t node, nanoseconds now) {
    auto& m = members_[node];
    auto const state = registry_.state(node);
    bool const is_late = state == node_state::starting && now >= m.started + hello_patience;
    if (is_late && !m.was_up && !ending_)
        warn_of(m.link, "its command has sent no message within 5 s; test it by hand", events_, now);
    if (state == m.shown || state == node_state::starting) return;
    m.shown = state;
    if (ending_) return;
    auto const subject = "node " + m.link.name();
    switch (state) {
        case node_state::up:
            if (registry_.awaits_report(node)) return events_.print(subject + " is up, and has kept its jobs");
            return events_.print(fmt::format("{} is up, with {} device{}", subject, m.facts.devices.size(),
                                             m.facts.devices.size() == 1 ? "" : "s"));
        case node_state::suspect:
            return events_.emit(
                warning{subject, "it does not answer; its jobs keep their devices, and it gets no others"}, now);
        case node_state::lost: return events_.emit(warning{subject, sentence_on_loss(m.has_ended)}, now);
        case node_state::gone: return events_.emit(warning{subject, sentence_on_end(m.has_ended)}, now);
        case node_state::starting: return;
    }
}

void cluster_nodes::send(part_of const& describe, std::size_t jobs, nanoseconds now) {
    for (std::size_t node = 0; node < members_.size(); ++node) {
        auto& m = members_[node];
        auto const state = registry_.state(node);
        if (state != node_state::up && state != node_state::suspect) continue;
        if (m.link.channel() != nullptr) m.link.channel()->flush();
        bool const has_list = m.dirty && describe && !registry_.awaits_report(node);
        if (!has_list && now < m.next_beat) continue;
        m.next_beat = now + task_.hello.beat;
        if (!has_list) {
            m.link.send(beat_order{});
            continue;
        }
        m.dirty = false;
        jobs_order list{.grants = ++m.lists, .jobs = {}};
        for (std::size_t job = 0; job < jobs; ++job)
            if (registry_.is_assigned(job, node)) list.jobs.push_back(describe(job, node));
        send_list(m.link, std::move(list));
    }
}

bool cluster_nodes::has_changed_lists() const noexcept {
    for (std::size_t node = 0; node < members_.size(); ++node) {
        auto const state = registry_.state(node);
        if (members_[node].dirty && (state == node_state::up || state == node_state::suspect)) return true;
    }
    return false;
}

void cluster_nodes::end(bool kill) {
    ending_ = true;
    for (auto& m : members_) {
        m.restart_at.reset();
        if (m.was_up) {
            m.link.send(end_order{kill});
        } else {
            m.link.close();
            m.link.end_command(kill);
        }
    }
}

bool cluster_nodes::have_ended(bool force) {
    bool all = true;
    for (auto& m : members_) {
        if (auto* const channel = m.link.channel(); channel != nullptr) channel->flush();
        if (m.link.has_ended()) continue;
        all = false;
        if (force) m.link.end_command(true);
    }
    return all;
}

std::string cluster_nodes::address(std::size_t node) const {
    auto const& spec = members_[node].link.spec();
    bool const is_part_of_this_machine = spec.cpus.has_value();
    return is_part_of_this_machine ? "127.0.0.1" : spec.name.substr(spec.name.find('@') + 1);
}

std::int64_t cluster_nodes::devices(std::size_t node) const noexcept {
    return registry_.is_away(node) ? 0 : members_[node].devices;
}

bool cluster_nodes::awaits_restart() const noexcept {
    return std::ranges::any_of(members_, [](member const& m) { return m.restart_at.has_value(); });
}

bool is_any_there(node_registry const& nodes) noexcept {
    for (std::size_t node = 0; node < nodes.size(); ++node)
        if (!nodes.is_away(node)) return true;
    return false;
}

bool is_any_starting(node_registry const& nodes) noexcept {
    for (std::size_t node = 0; node < nodes.size(); ++node)
        if (nodes.state(node) == node_state::starting) return true;
    return false;
}

bool may_any_return(node_registry const& nodes) noexcept {
    for (std::size_t node = 0; node < nodes.size(); ++node)
        if (nodes.is_away(node) && nodes.state(node) != node_state::gone) return true;
    return false;
}

std::optional<std::size_t> find_node(cluster_nodes const& nodes, std::string_view name) noexcept {
    for (std::size_t node = 0; node < nodes.registry().size(); ++node)
        if (nodes.name(node) == name) return node;
    return std::nullopt;
}

}  // namespace ration::program
