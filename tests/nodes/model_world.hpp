// SPDX-License-Identifier: BSL-1.0
// A model of a controller, its nodes and their lines, in virtual time. All can crash or be suspended at random.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model_parts.hpp"

namespace model {

class world {
    rng random_;
    nanoseconds now_{};
    node_registry registry_{nodes_count, jobs_count, times};
    std::array<machine_model, nodes_count> machines_;
    std::vector<in_flight> wires_;
    std::array<job_model, jobs_count> jobs_;
    std::array<link_model, nodes_count> links_;
    std::uint64_t sessions_ = 0, incarnations_ = 0;
    nanoseconds suspended_until_{};  // the controller
    bool all_sleep_ = false;         // and all machines with it, as in a container that is frozen

public:
    std::string violation;
    tally_model seen;

    explicit world(std::uint64_t seed) : random_(seed) {
        for (auto& machine : machines_) machine.skew = up_to(random_, seconds(1000));
        for (std::size_t node = 0; node < nodes_count; ++node) start_agent(node);
    }

    void run() {
        for (int i = 0; i < steps && violation.empty(); ++i) {
            now_ = now_ + step;
            bool const is_suspended = now_ < suspended_until_;
            if (is_suspended && all_sleep_) {
                delay_processes(machines_);
                continue;
            }
            if (!is_suspended) disturb();
            deliver();
            for (std::size_t node = 0; node < nodes_count; ++node) turn_of_machine(node);
            if (is_suspended) continue;
            turn_of_controller();
            check_starts();
        }
    }

private:
    void disturb() {
        auto const node = random_() % nodes_count;
        auto& machine = machines_[node];
        if (one_in(random_, 60)) cut(node);
        if (machine.agent && one_in(random_, 80)) machine.agent->silent = !machine.agent->silent;
        if (machine.agent && one_in(random_, 120)) kill_agent(node);
        if (one_in(random_, 900)) {  // the machine loses its power
            machine = {};
            machine.dead = true;
        }
        if (one_in(random_, 300)) replace_controller();
        if (suspended_until_ == nanoseconds{} && one_in(random_, 200)) {
            ++seen.suspends;
            suspended_until_ = now_ + up_to(random_, seconds(60));
            all_sleep_ = one_in(random_, 2);
        }
    }

    /// The first turn of the controller after it was suspended.
    void resume() {
        if (suspended_until_ == nanoseconds{} || now_ < suspended_until_) return;
        suspended_until_ = {};
        registry_.resume(now_);
        for (auto& job : jobs_) job.start.resume(now_);
        for (auto& job : jobs_) job.placed_at = now_;
    }

    /// The controller is killed, and another one continues its run from the record: where each job may be. It was
    /// written before the lists that changed it.
    void replace_controller() {
        ++seen.crashes;
        auto const before = registry_;
        registry_ = node_registry(nodes_count, jobs_count, times);
        for (std::size_t job = 0; job < jobs_count; ++job) {
            auto const nodes = before.nodes_of(job);
            if (!nodes.empty()) registry_.expect(job, nodes, jobs_[job].placed.size(), before.is_leaving(job), now_);
            jobs_[job].launched.clear();
            jobs_[job].start = {};
            jobs_[job].start.begin(now_);
            jobs_[job].placed_at = now_;
        }
        for (std::size_t node = 0; node < nodes_count; ++node) {
            if (machines_[node].agent) machines_[node].agent->connected = false;
            start_agent(node);
        }
    }

    /// Its jobs run on. The protocol relies on another agent that ends them before the lease is over, or on a site that
    /// ends the processes of a step with it: no message can end a process that no agent has.
    void kill_agent(std::size_t node) {
        auto& machine = machines_[node];
        auto const over = machine.agent->lease.until() - machine.skew;
        for (auto& p : machine.processes)
            if (!p.ends_at) p.ends_at = std::max(now_, over);
        end_agent(node);
        cut(node);
    }

    /// A command that waits for the agent ends with it.
    void end_agent(std::size_t node) {
        auto& machine = machines_[node];
        machine.agent.reset();
        if (machine.relayed_session && *machine.relayed_session == links_[node].session) cut(node);
        machine.relayed_session.reset();
    }

    void cut(std::size_t node) {
        if (machines_[node].agent) machines_[node].agent->connected = false;
        links_[node].open = false;
        if (registry_.state(node) == node_state::lost || registry_.state(node) == node_state::gone) return;
        registry_.closed(node);
        links_[node].next_start = now_ + up_to(random_, seconds(2));
    }

    void start_agent(std::size_t node) {
        auto const session = std::to_string(++sessions_);
        bool const returns_to_nothing = registry_.state(node) == node_state::lost;
        seen.returns += returns_to_nothing ? 1 : 0;
        registry_.start(node, session, now_);
        links_[node] = {};
        links_[node].session = session;
        links_[node].open = true;
        links_[node].next_start = {INT64_MAX};
        if (machines_[node].dead) return;
        // After a loss it waits for the end of the earlier agent
        auto& arrived = machines_[node].agent && !returns_to_nothing ? machines_[node].relayed_session
                                                                     : machines_[node].waiting_session;
        arrived = session;
        machines_[node].ready_at = now_ + up_to(random_, seconds(3));
    }

    void send(in_flight what) {
        if (one_in(random_, 12)) return;  // lost
        what.at = now_ + up_to(random_, one_in(random_, 20) ? seconds(40) : milliseconds(600));
        wires_.push_back(what);
        if (one_in(random_, 20)) {  // doubled
            what.at = what.at + up_to(random_, seconds(5));
            wires_.push_back(what);
        }
    }

    void deliver() {
        std::vector<in_flight> due;
        auto const arrives = [&](in_flight const& m) {
            return m.at <= now_ && (m.to_node || now_ >= suspended_until_);
        };
        for (auto const& m : wires_)
            if (arrives(m)) due.push_back(m);
        std::erase_if(wires_, arrives);
        std::ranges::shuffle(due, random_);
        for (auto const& m : due) m.to_node ? take_order(m) : take_report(m);
    }

    // --- A machine

    [[nodiscard]] nanoseconds clock_of(std::size_t node) const { return now_ + machines_[node].skew; }

    void take_order(in_flight const& m) {
        auto& agent = machines_[m.node].agent;
        if (!agent || agent->silent || m.what.session != agent->session || m.what.number <= agent->last) return;
        if (agent->lease.is_over(clock_of(m.node))) return;
        agent->last = m.what.number;
        agent->lease.renew(m.what.clock, clock_of(m.node));
        if (!m.what.has_list) return;
        agent->grants = m.what.grants;
        agent->assigned = m.what.jobs;
    }

    void launch(std::size_t node, part_model const& part) {
        auto& machine = machines_[node];
        process_model fresh{.job = part.job, .incarnation = part.incarnation, .devices = {}, .ends_at = {}};
        auto const used = [&](int device) {
            return std::ranges::any_of(machine.processes, [&](process_model const& p) {
                return std::ranges::find(p.devices, device) != p.devices.end();
            });
        };
        for (int device = 0; device < static_cast<int>(devices_count) && fresh.devices.empty(); ++device)
            if (!used(device)) fresh.devices.push_back(device);
        if (fresh.devices.empty()) return;  // it waits
        for (auto const& other : machines_)
            for (auto const& p : other.processes) {
                bool const is_other = p.incarnation != part.incarnation || &other == &machine;
                if (p.job == part.job && is_other) violation = "two incarnations run, or a part twice";
            }
        machine.processes.push_back(fresh);
        machine.agent->launched.insert(part.incarnation);
        ++seen.launches;
    }

    [[nodiscard]] bool hangs_at_launch(agent_model& agent, part_model const& part) {
        auto const [entry, is_new] = agent.stuck.try_emplace(part.incarnation, nanoseconds{});
        if (is_new && one_in(random_, 4)) {
            entry->second = now_ + up_to(random_, seconds(60));
            ++seen.hangs;
        }
        return now_ < entry->second;
    }

    void turn_of_machine(std::size_t node) {
        auto& machine = machines_[node];
        std::erase_if(machine.processes, [&](process_model const& p) { return p.ends_at && *p.ends_at <= now_; });
        take_lock(node);
        if (!machine.agent) return;
        auto& agent = *machine.agent;
        auto const is_assigned = [&](std::size_t job) {
            return std::ranges::find(agent.assigned, job, &part_model::job) != agent.assigned.end();
        };
        std::erase_if(machine.processes, [&](process_model const&) { return one_in(random_, 400); });  // they fail
        bool const over = agent.lease.is_over(clock_of(node));
        for (auto& p : machine.processes)
            if (!p.ends_at && (over || !is_assigned(p.job)))
                p.ends_at = now_ + up_to(random_, nanoseconds{times.ending.count - 2 * step.count});
        if (over) {
            if (!machine.processes.empty()) return;
            if (agent.connected && !agent.silent)
                send({node, false, {}, ended_message(agent.session, ++agent.sent, clock_of(node))});
            end_agent(node);
            return;
        }
        take_over(node);
        auto const runs = [&](std::size_t job) {
            return std::ranges::find(machine.processes, job, &process_model::job) != machine.processes.end();
        };
        for (auto const& part : agent.assigned)
            if (!runs(part.job) && !agent.launched.contains(part.incarnation) && !hangs_at_launch(agent, part))
                launch(node, part);
        if (clock_of(node) < agent.next_beat || agent.silent || !agent.connected) return;
        agent.next_beat = clock_of(node) + beat;
        std::vector<part_model> present;
        for (auto const& p : machine.processes) present.push_back({p.job, p.incarnation});
        for (auto const& part : agent.assigned)
            if (!runs(part.job))
                present.push_back({.job = part.job,
                                   .incarnation = part.incarnation,
                                   .has_ended = agent.launched.contains(part.incarnation),
                                   .is_launched = agent.launched.contains(part.incarnation)});
        send({node, false, {}, {agent.session, ++agent.sent, agent.grants, clock_of(node), present, false}});
    }

    /// One agent at a time has the lock of its node. It ends what an earlier one has left, and then sends its hello.
    void take_lock(std::size_t node) {
        auto& machine = machines_[node];
        if (machine.dead || !machine.waiting_session || now_ < machine.ready_at) return;
        if (machine.agent) return;
        machine.processes.clear();
        machine.agent = agent_model{.session = *machine.waiting_session,
                                    .lease = {times.lease, clock_of(node)},
                                    .assigned = {},
                                    .connected = links_[node].session == *machine.waiting_session && links_[node].open};
        machine.waiting_session.reset();
        auto& agent = *machine.agent;
        agent.next_beat = clock_of(node) + beat;
        if (agent.connected) send({node, false, {}, {agent.session, ++agent.sent, 0, clock_of(node), {}, true}});
    }

    /// A later command continues the conversation. The numbers of lists begin again.
    void take_over(std::size_t node) {
        auto& machine = machines_[node];
        auto& agent = *machine.agent;
        if (!machine.relayed_session || agent.connected || agent.silent || now_ < machine.ready_at) return;
        agent.session = *machine.relayed_session;
        machine.relayed_session.reset();
        agent.connected = links_[node].session == agent.session && links_[node].open;
        agent.last = agent.sent = agent.grants = 0;
        agent.next_beat = clock_of(node);
        if (agent.connected) send({node, false, {}, {agent.session, ++agent.sent, 0, clock_of(node), {}, true, true}});
    }

    // --- The controller

    [[nodiscard]] bool accept(in_flight const& m) {
        if (!m.what.is_hello) return registry_.message(m.node, m.what.session, now_);
        bool const is_accepted = registry_.hello(m.node, m.what.session, now_, m.what.is_resumed);
        seen.resumes += is_accepted && m.what.is_resumed ? 1 : 0;
        return is_accepted;
    }

    void take_report(in_flight const& m) {
        auto& link = links_[m.node];
        if (!m.what.is_hello && m.what.number <= link.last && m.what.session == link.session) return;
        if (!accept(m)) return;
        link.last = m.what.number;
        link.clock = std::max(link.clock, m.what.clock);
        if (m.what.is_hello) return;
        if (m.what.has_ended) return registry_.ended(m.node, node_end::without_lease);
        std::vector<std::size_t> present;
        for (auto const& part : m.what.jobs) {
            present.push_back(part.job);
            auto& job = jobs_[part.job];
            if (part.incarnation != job.incarnation) continue;
            job.has_failed = job.has_failed || part.has_ended;
            if (part.is_launched) job.launched.insert(m.node);
        }
        registry_.report(m.node, m.what.grants, present);
    }

    void turn_of_controller() {
        auto const before = lost();
        resume();
        registry_.advance(now_);
        seen.losses += lost() - before;
        for (std::size_t node = 0; node < nodes_count; ++node) restart(node);
        for (std::size_t job = 0; job < jobs_count; ++job) place(job);
        for (std::size_t node = 0; node < nodes_count; ++node) send_list(node);
    }

    [[nodiscard]] std::uint64_t lost() const {
        std::uint64_t out = 0;
        for (std::size_t node = 0; node < nodes_count; ++node) out += registry_.state(node) == node_state::lost ? 1 : 0;
        return out;
    }

    void restart(std::size_t node) {
        auto const state = registry_.state(node);
        if (state == node_state::lost && links_[node].open) {
            cut(node);
            links_[node].next_start = now_ + up_to(random_, seconds(4));
        }
        bool const starts = state == node_state::suspect || state == node_state::lost;
        if (starts && now_ >= links_[node].next_start) start_agent(node);
        // An agent whose hello was lost is started again
        if (state == node_state::suspect && links_[node].next_start.count == INT64_MAX && links_[node].last == 0)
            cut(node);
    }

    void place(std::size_t number) {
        auto& job = jobs_[number];
        if (one_in(random_, 40)) choose_nodes(job, random_);
        if (job.wanted.empty()) return;
        if (job.launched.size() == job.placed.size()) job.start.advance(start_phase::greeting, now_);
        bool const hangs = job.start.phase() == start_phase::launching && job.start.is_over(now_, start_limit);
        job.has_failed = job.has_failed || (job.placed.size() > 1 && hangs);
        bool const has_to_leave = registry_.is_broken(number) || job.has_failed || job.placed != job.wanted;
        if (!registry_.is_free(number) && !registry_.is_leaving(number) && has_to_leave) {
            for (auto const node : registry_.nodes_of(number))
                registry_.withdraw(number, {node, links_[node].grants + 1});
            ++seen.moves;
        }
        if (!std::ranges::all_of(job.wanted, [&](std::size_t node) { return registry_.may_assign(number, node); }))
            return;
        std::vector<node_registry::node_list> lists;
        for (auto const node : job.wanted) lists.push_back({node, links_[node].grants + 1});
        registry_.assign(number, lists);
        job = {.wanted = job.wanted, .placed = job.wanted, .incarnation = ++incarnations_, .placed_at = now_};
        job.start.begin(now_);
        seen.gangs += lists.size() > 1 ? 1 : 0;
    }

    /// A launch on several nodes of which a part hangs is withdrawn at its deadline, and one that has started is not.
    void check_starts() {
        for (std::size_t number = 0; number < jobs_count; ++number) {
            auto const& job = jobs_[number];
            bool const stays = !registry_.is_free(number) && !registry_.is_leaving(number);
            if (!stays || job.placed.size() < 2 || now_ < job.placed_at + start_limit) continue;
            ++seen.lasting;
            bool const hangs = std::ranges::any_of(job.placed, [&](std::size_t node) {
                auto const& agent = machines_[node].agent;
                auto const found = agent ? agent->stuck.find(job.incarnation) : decltype(agent->stuck.end()){};
                return agent && found != agent->stuck.end() && now_ < found->second;
            });
            if (hangs) violation = "a start that hangs lasts";
        }
    }

    void send_list(std::size_t node) {
        auto& link = links_[node];
        if (registry_.state(node) != node_state::up || now_ < link.next_beat) return;
        link.next_beat = now_ + beat;
        if (registry_.awaits_report(node)) {
            send({node, true, {}, {link.session, ++link.sent, 0, link.clock, {}, false, false, false}});
            return;
        }
        std::vector<part_model> jobs;
        for (std::size_t job = 0; job < jobs_count; ++job)
            if (registry_.is_assigned(job, node)) jobs.push_back({job, jobs_[job].incarnation});
        send({node, true, {}, {link.session, ++link.sent, ++link.grants, link.clock, jobs, false}});
    }
};

}  // namespace model
