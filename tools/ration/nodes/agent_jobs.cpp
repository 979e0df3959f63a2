// SPDX-License-Identifier: BSL-1.0
#include "nodes/agent_jobs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <poll.h>
#include <utility>

#include "events/json_writer.hpp"
#include "nodes/node_row.hpp"

namespace ration::program {
namespace {

/// Events of these kinds cross the wire; the controller emits its own ones of the others.
[[nodiscard]] bool is_for_controller(event_body const& body) noexcept {
    return std::holds_alternative<job_started>(body) || std::holds_alternative<job_progress>(body) ||
           std::holds_alternative<condition_changed>(body) || std::holds_alternative<warning>(body) ||
           std::holds_alternative<job_ended>(body) || std::holds_alternative<resize_changed>(body) ||
           std::holds_alternative<device_changed>(body) || std::holds_alternative<delivered>(body);
}

/// The command can be longer than a message, and the controller has it.
[[nodiscard]] std::string event_line(event const& what) {
    auto const* const started = std::get_if<job_started>(&what.body);
    if (started == nullptr) return to_json(what);
    auto without = *started;
    without.command = {};
    return to_json({what.at, std::move(without)});
}

constexpr nanoseconds hold_time = milliseconds(200);
/// Of events while no controller is connected; the ends of jobs are kept in any case.
constexpr std::size_t most_kept_bytes = std::size_t{2} << 20;

/// Its devices are free, and no process of it is left.
[[nodiscard]] bool is_cleared(live_job const& job) noexcept {
    return job.over() && (job.devices == nullptr || job.devices->state().phase != resize_phase::clearing);
}

/// A part without rank 0 reports no progress and runs no hooks. The size of a part does not change: the whole job is
/// launched again.
void take_part(job_config& config, elastic_config& elastic, assigned_job const& job) {
    elastic.part = job.part;
    if (job.part.is_whole()) return;
    elastic.part.incarnation = job.incarnations + 1;
    elastic.devices = {job.devices, job.devices};
    if (!job.part.follows()) return;
    config.log.clear();
    config.metrics.reset();
    config.hooks = {};
}

}  // namespace

void agent_session::send(node_report const& what) {
    auto const line = to_line({.session = name, .number = ++sent, .clock = lease_clock().count}, what);
    if (line.size() <= most_message_bytes)
        channel.send(line);
    else
        channel.send(to_line({.session = name, .number = sent, .clock = lease_clock().count},
                             error_report{"a message of this node is longer than a line may be"}));
}

std::vector<node_order> agent_session::receive(node_lease* lease) {
    std::vector<node_order> out;
    channel.fill();
    while (auto line = channel.next()) {
        auto read = line->too_long
                        ? result<wire_message<node_order>, std::string>(fmt::format(
                              "a message is longer than {} bytes; use the same version of ration on all nodes",
                              most_message_bytes))
                        : read_order(line->text);
        if (!read) {
            send(error_report{read.failure()});
            continue;
        }
        if (read->head.session != name || read->head.number <= received) continue;
        received = read->head.number;
        if (lease != nullptr) lease->renew(nanoseconds{read->head.clock}, lease_clock());
        out.push_back(std::move(read->body));
    }
    return out;
}

agent_jobs::agent_jobs(agent_session& session, agent_greetings greetings, node_lease lease, agent_limits limits,
                       std::vector<job_config> known, std::shared_ptr<grant_list> grants)
    : session_(session), lease_(lease), limits_(limits), greetings_(std::move(greetings)), grants_(std::move(grants)) {
    session_.send(greetings_.report);
    greetings_.report.reattached = true;  // in the next conversation
    for (auto& job : known) {
        job.at = {};  // the controller keeps its time of arrival
        auto name = job.name;
        known_.emplace(std::move(name), std::make_shared<job_config const>(std::move(job)));
    }
}

void agent_jobs::report(event const& what) {
    if (!is_for_controller(what.body)) return;
    dirty_ = dirty_ || !std::holds_alternative<job_progress>(what.body);
    auto const* const end = std::get_if<job_ended>(&what.body);
    if (end == nullptr || ending_) return send_event(event_line(what));
    if (ends_.empty()) ends_at_ = process::now() + hold_time;
    ends_.push_back(event_line(what));
    held_.emplace(end->job);
    reported_ends_.insert_or_assign(std::string(end->job), ends_.back());
}

void agent_jobs::send_event(std::string line) {
    if (!session_.channel.at_end()) return session_.send(event_report{std::move(line)});
    if (kept_bytes_ + line.size() > most_kept_bytes) return;
    kept_bytes_ += line.size();
    kept_.push_back(std::move(line));
}

/// Another controller continues the run, or the command of this one was started again. A job of the last list that is
/// not in the run yet never starts: the first report shows the controller that this node does not have it.
void agent_jobs::reattach() {
    auto next = ending_ ? std::nullopt : limits_.socket.accept(greetings_.order);
    if (!next) return;
    session_.channel = std::move(next->channel);
    session_.name = next->head.session;
    session_.received = next->head.number;
    session_.sent = 0;
    std::erase_if(assigned_, [&](assigned_job const& job) { return !present_.contains(job.job); });
    incoming_.clear();
    list_ = grants_->number = grants_->answered = 0;
    session_.send(greetings_.report);
    for (auto& line : std::exchange(kept_, {})) session_.send(event_report{std::move(line)});
    for (auto const& [job, line] : reported_ends_)
        if (!held_.contains(job)) session_.send(event_report{line});
    kept_bytes_ = 0;
    dirty_ = true;
}

void agent_jobs::interrupted() {
    if (ending_) return;
    end();
    ends_.clear();
    continuing_.merge(held_);
    held_.clear();
}

void agent_jobs::send_ends() {
    for (auto& line : std::exchange(ends_, {})) send_event(std::move(line));
    held_.clear();
}

nanoseconds agent_jobs::join(std::vector<pollfd>& fds) const {
    bool const is_connected = !session_.channel.at_end();
    if (is_connected || !ending_)
        fds.push_back({is_connected ? session_.channel.input() : limits_.socket.awaited(), POLLIN, 0});
    if (session_.channel.has_unsent()) fds.push_back({session_.channel.output(), POLLOUT, 0});
    if (new_list_) return process::now();
    if (!ends_.empty()) return ends_at_;
    return ending_ ? next_beat_ : std::min(next_beat_, process::now() + (lease_.until() - lease_clock()));
}

std::vector<admitted_job> agent_jobs::admit(std::size_t slots, nanoseconds now) {
    std::vector<admitted_job> out;
    for (auto const& job : assigned_) {
        if (ending_ || out.size() == slots) break;
        auto const found = known_.find(job.job);
        if (found == known_.end() || present_.contains(job.job)) continue;
        auto config = std::make_shared<job_config>(*found->second);
        config->at = now;
        if (auto& elastic = config->elastic) take_part(*config, *elastic, job);
        out.push_back({std::move(config), job.incarnations});
        present_.insert(job.job);
    }
    return out;
}

turn_orders agent_jobs::take_turn(job_table const& jobs, std::span<training_progress const>, policy_exchange const&,
                                  hook_room const&, nanoseconds) {
    turn_orders orders;
    new_list_ = false;
    // A lease that ended while this process was stopped is over, whatever messages the pipe holds
    if (!ending_ && lease_.is_over(lease_clock())) {
        has_lost_lease_ = true;
        end();
    }
    for (auto const& order : session_.receive(ending_ ? nullptr : &lease_)) take(order);
    limits_.guard.renew(lease_.until());
    if (session_.channel.at_end()) limits_.claims.are_requested() ? end() : reattach();
    set_grants(jobs);
    stop_others(jobs, orders);
    orders.tick = grants_->answered != grants_->number;
    dirty_ = dirty_ || reported_ != grants_->answered;
    if (!ends_.empty() && (ending_ || process::now() >= ends_at_)) send_ends();
    if (ends_.empty() && (dirty_ || process::now() >= next_beat_)) send_state(jobs);
    session_.channel.flush();
    return orders;
}

void agent_jobs::take(node_order const& order) {
    if (auto const* const ending = std::get_if<end_order>(&order)) {
        end();
        kill_ = kill_ || ending->kill;
    }
    auto const* const list = std::get_if<jobs_order>(&order);
    if (list == nullptr) return;
    incoming_.insert(incoming_.end(), list->jobs.begin(), list->jobs.end());
    if (list->more) return;
    assigned_ = std::exchange(incoming_, {});
    list_ = list->grants;
    new_list_ = true;
}

assigned_job const* agent_jobs::find(std::string_view job) const noexcept {
    auto const found = std::ranges::find(assigned_, job, &assigned_job::job);
    return found == assigned_.end() ? nullptr : &*found;
}

/// The list counts once all its jobs are in the run.
void agent_jobs::set_grants(job_table const& jobs) {
    auto const is_present = [&](assigned_job const& job) {
        return present_.contains(job.job) || !known_.contains(job.job);
    };
    if (!std::ranges::all_of(assigned_, is_present)) {
        new_list_ = true;
        return;
    }
    grants_->jobs.clear();
    for (auto const& job : jobs.jobs()) {
        auto const* const assigned = job.forgotten ? nullptr : find(job.config->name);
        if (assigned != nullptr) grants_->jobs.insert({job.id.value, {assigned->devices, assigned->batch}});
    }
    grants_->number = list_;
}

void agent_jobs::stop_others(job_table const& jobs, turn_orders& orders) {
    for (auto const& job : jobs.jobs()) {
        if (job.forgotten) continue;
        auto const& name = job.config->name;
        bool const is_part = job.config->elastic && !job.config->elastic->part.is_whole();
        bool const stays = ending_ ? is_part && follows_to_its_end(job) : find(name) != nullptr;
        bool const has_ended = is_part && has_ended_early(job);
        if ((!stays || has_ended) && !job.over() && stopped_.insert(name).second) {
            // The controller withdraws a part when nothing of the job is to be saved any more
            bool const saves = ending_ || !is_part;
            (saves ? orders.stop : orders.terminate).push_back(job.id);
        }
        if (kill_ && job.alive()) orders.kill.push_back(job.id);
        if (find(name) != nullptr || !is_cleared(job)) continue;
        orders.forget.push_back(job.id);
        present_.erase(name);
        stopped_.erase(name);
        reported_ends_.erase(name);
        dirty_ = true;
    }
}

/// At the end of the node, ranks without rank 0 end with it: it saves with them.
bool agent_jobs::follows_to_its_end(live_job const& job) const noexcept {
    auto const& elastic = job.elastic();
    auto const patience = elastic.deadlines.save + elastic.deadlines.stop;
    return elastic.part.follows() && !kill_ && process::now() < ending_since_ + patience;
}

/// Whether the process of a part has ended while rank 0 saved, or with a device. It is not launched again.
bool agent_jobs::has_ended_early(live_job const& job) noexcept {
    return !job.alive() && job.devices->launch().is_awaited() && job.run.value >= job.elastic().part.incarnation;
}

bool agent_jobs::may_launch(live_job const& job) {
    auto const& part = job.elastic().part;
    return !ending_ && (part.is_whole() || job.run.value < part.incarnation);
}

void agent_jobs::end() noexcept {
    if (!std::exchange(ending_, true)) ending_since_ = process::now();
}

void agent_jobs::send_state(job_table const& jobs) {
    dirty_ = false;
    reported_ = grants_->answered;
    next_beat_ = process::now() + greetings_.order.beat;
    std::vector<std::string> rows;
    for (auto const& job : jobs.jobs())
        if (!job.forgotten && present_.contains(job.config->name) && !continuing_.contains(job.config->name))
            rows.push_back(node_row_json(job, jobs));
    state_report state{.grants = reported_, .devices = devices_of_node(jobs), .rows = {}, .more = false};
    for (std::size_t first = 0; first == 0 || first < rows.size(); first += jobs_in_message) {
        auto const last = std::min(rows.size(), first + jobs_in_message);
        state.rows = "[";
        for (std::size_t i = first; i < last; ++i) state.rows += (i > first ? "," : "") + rows[i];
        state.rows += ']';
        state.more = last < rows.size();
        session_.send(state);
    }
}

}  // namespace ration::program
