// SPDX-License-Identifier: BSL-1.0
/// The cgroup backend: one group for the run, below it one for each job, in whatever hierarchies this machine has.
#pragma once

#include <algorithm>
#include <csignal>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cgroup/detail/cap.hpp>
#include <ration/cgroup/detail/operation.hpp>
#include <ration/cgroup/detail/reconcile.hpp>
#include <ration/host/backend.hpp>
#include <ration/host/no_memory.hpp>
#include <ration/text.hpp>

namespace ration::cgroup {

struct options {
    std::string_view name = "run";  ///< part of the run's group name; see `check_name`
    cpu_cap cpus{};                 ///< what the whole run may use
};

/// Turns grants of `cpu` (as quota; 0 freezes) and `memory` into kernel limits. Move-only. The destructor kills what is
/// left in the run's groups and removes them. One thread at a time; the `io` must outlive it. Where memory runs out,
/// every function returns `errc::no_memory` and may be called again (docs/adr/0021); those that change or measure a
/// limit allocate nothing in the steady state.
class backend {
    struct member {
        job_id id;
        group where;
        int first = 0;  // the first process that was placed; 0: none yet
        detail::written_limits written = {};
    };
    /// In one place for good: groups point to the tree and to the run's group. Destroyed from the last to the first.
    struct state {
        tree hierarchies;
        evacuation room;
        std::unique_ptr<group> run;
        std::vector<member> jobs;  // ascending by id
        std::vector<resource_id> resources;
        millicores capacity{};
        std::string scratch;
    };
    std::unique_ptr<state> state_;

    explicit backend(std::unique_ptr<state> ready) noexcept : state_(std::move(ready)) {}

public:
    using backend_concept = backend_tag;
    using operation = cgroup::operation;

    /// Finds the hierarchies, makes the run's group and caps it. On an error nothing is left behind.
    /// Errors: not_supported or denied (nobody can limit cpu here: see the remedy), conflict (v2: other processes in
    /// our group), invalid_value (the name), out_of_range (the cap).
    [[nodiscard]] static result<backend> open(io& machine, options const& wanted = {}) noexcept {
        return or_no_memory("open the cgroup backend", wanted.name, [&] { return open_here(machine, wanted); });
    }

    [[nodiscard]] std::span<resource_id const> resources() const noexcept { return state_->resources; }
    /// What all jobs can use together.
    [[nodiscard]] millicores capacity() const noexcept { return state_->capacity; }
    [[nodiscard]] tree const& hierarchies() const noexcept { return state_->hierarchies; }
    [[nodiscard]] group const& run() const noexcept { return *state_->run; }

    /// Changes what the whole run may use, live.
    [[nodiscard]] result<void> set_cap(cpu_cap const& wanted) noexcept {
        return or_no_memory("cap", state_->run->name(), [&]() -> result<void> {
            std::vector<group const*> jobs;
            for (member const& each : state_->jobs) jobs.push_back(&each.where);
            auto const done = cgroup::set_cap(*state_->run, jobs, wanted);
            auto const capacity = done ? capacity_of(*state_->run) : result<millicores>(done.failure());
            if (!capacity) return capacity.failure();
            state_->capacity = *capacity;
            return {};
        });
    }

    /// Makes the job's group. Errors: already_exists (the id or the name), invalid_value (the name), gone (the run's
    /// group).
    [[nodiscard]] result<void> add(job_id id, std::string_view name) noexcept {
        auto const at = std::ranges::lower_bound(state_->jobs, id, {}, &member::id);
        if (at != state_->jobs.end() && at->id == id) return make_error(errc::already_exists, "add job", name);
        return or_no_memory("add job", name, [&]() -> result<void> {
            auto made = group::create(state_->hierarchies, state_->run.get(), name);
            if (!made) return made.failure();
            state_->jobs.insert(at, member{id, std::move(made).value()});
            return {};
        });
    }

    /// Kills what is left of the job and removes its group; from then on the id is unknown. On an error the job stays
    /// known, and `remove` may be called again.
    [[nodiscard]] result<void> remove(job_id id) noexcept {
        return with(id, "remove", [&](group& where) {
            auto const killed = where.kill();
            auto const removed = killed ? where.remove() : killed;
            if (removed) std::erase_if(state_->jobs, [id](member const& each) { return each.id == id; });
            return removed;
        });
    }

    [[nodiscard]] result<void> freeze(job_id id) noexcept {
        return with(id, "freeze", [](group const& where) { return where.freeze(); });
    }
    [[nodiscard]] result<void> thaw(job_id id) noexcept {
        return with(id, "thaw", [](group const& where) { return where.thaw(); });
    }
    [[nodiscard]] result<void> kill(job_id id) noexcept {
        return with(id, "kill", [](group const& where) { return where.kill(); });
    }

    /// Asks the job to end: SIGTERM to every process of it and below it, thawed so that it hears.
    [[nodiscard]] result<void> ask_to_end(job_id id) noexcept {
        auto const job = find_member(id);
        if (!job) return job.failure();
        (*job)->written.forget();  // it shall not be frozen again
        return with(id, "ask to end", [](group const& where) {
            directory const* const freezer = where.place_of(controller::freezer);
            auto const thawed = freezer != nullptr ? detail::thaw_tree(*freezer) : result<void>();
            auto const gathered = where.gather();
            auto const asked = detail::signal_tree(where.places().front(), SIGTERM);
            return !asked ? asked : thawed ? gathered : thawed;
        });
    }

    /// Puts a process into the job's group in every hierarchy. Error: busy when the group is frozen: it could not even
    /// start.
    [[nodiscard]] result<void> place(job_id id, int pid) noexcept {
        auto const job = find_member(id);
        auto const open = job ? unfrozen((*job)->where) : result<void>(job.failure());
        auto const placed = open ? (*job)->where.place(pid) : open;
        if (placed && (*job)->first == 0) (*job)->first = pid;
        return placed;
    }

    /// Puts `pid`, a process of the job, back into the groups that it has left, and writes files again that another
    /// program has changed since `apply`. Where nothing has changed this is one read for each file. Error: not_found
    /// (the job).
    [[nodiscard]] result<drift> reconcile(job_id id, int pid) noexcept {
        auto const job = find_member(id);
        if (!job) return job.failure();
        return or_no_memory("reconcile", (*job)->where.name(), [&]() -> result<drift> {
            drift found;
            detail::bring_back((*job)->where, pid, found, state_->scratch);
            (*job)->written.restore((*job)->where, found, state_->scratch);
            return found;
        });
    }

    /// For clone3 with CLONE_INTO_CGROUP; -1 where there is no v2 group: then start the process held back, and `place`
    /// it. `place` it in any case. Error: busy when the group is frozen: the new process would hang before its first
    /// instruction.
    [[nodiscard]] result<int> clone_directory(job_id id) noexcept {
        auto const where = find(id);
        auto const open = where ? unfrozen(**where) : result<void>(where.failure());
        return open ? result<int>((*where)->clone_directory()) : result<int>(open.failure());
    }

    /// The directory of the job's group that has the controller's files; null where nobody has the controller. Good
    /// until the job is removed.
    [[nodiscard]] result<directory const*> place_of(job_id id, controller which) noexcept {
        auto const where = find(id);
        return where ? result<directory const*>((*where)->place_of(which)) : result<directory const*>(where.failure());
    }

    [[nodiscard]] result<std::vector<int>> members(job_id id) noexcept {
        return with(id, "list the members of", [](group const& where) { return where.members(); });
    }

    /// Sets a weight, a set of cpus or a number of processes, for which no grant exists.
    template <class Limit>
    [[nodiscard]] result<void> set(job_id id, Limit const& limit) noexcept {
        return with(id, "limit", [&](group const& where) { return cgroup::set(where, limit); });
    }

    [[nodiscard]] result<observation> observe(job_id id) noexcept {
        auto const where = find(id);
        return where ? cgroup::observe(**where, state_->scratch) : result<observation>(where.failure());
    }

    /// Errors: not_found (the job), not_supported (the resource), no_capacity (more cpu than the whole run has),
    /// out_of_range.
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        auto const where = find(wanted.job);
        if (!where) return where.failure();
        if (wanted.amount < 0)
            return make_error(errc::out_of_range, "plan", (*where)->name(), 0, "an amount is 0 or more");
        switch (wanted.resource) {
            case resource_id::cpu:
                if (wanted.amount != unlimited && wanted.amount > state_->capacity.count) {
                    return make_error(errc::no_capacity, "plan cpu for", (*where)->name(), 0,
                                      "give no job more than the run may use");
                }
                return with(wanted.job, "plan cpu for", [&](group const& job) {
                    return plan_cpu(job, wanted.job, wanted.amount, out, state_->scratch);
                });
            case resource_id::memory:
                return with(wanted.job, "plan memory for", [&](group const& job) {
                    return plan_memory(job, wanted.job, wanted.amount, out, state_->scratch);
                });
            default:
                return make_error(errc::not_supported, "plan", (*where)->name(), 0,
                                  "this backend limits cpu and memory");
        }
    }

    /// All or nothing: after an error the file holds the old value, unless that could not be written either. Writes;
    /// `verify` reads back.
    [[nodiscard]] result<void> apply(operation const& op) noexcept {
        auto const done = change(op, op.new_value);
        if (!done && done.failure().code != errc::gone && done.failure().code != errc::not_found)
            static_cast<void>(change(op, op.old_value));  // the first error is the one to tell
        return done;
    }
    /// Writes the old value and reads it back. Errors: those of `apply`; unverified.
    [[nodiscard]] result<void> undo(operation const& op) noexcept {
        auto const done = change(op, op.old_value);
        return done ? confirm(op, op.old_value) : done;
    }

    /// Error: unverified when the file shows another value than the operation's new one, or the job's first process is
    /// not in the group.
    [[nodiscard]] result<void> verify(operation const& op) noexcept {
        auto const job = find_member(op.job);
        if (!job) return job.failure();
        int const first = (*job)->first;
        auto const inside = first != 0 ? (*job)->where.contains(first, state_->scratch) : result<bool>(true);
        if (!inside && inside.failure().code == errc::no_memory) return inside.failure();
        if (inside && !*inside) {
            return make_error(errc::unverified, "verify that the first process is in", (*job)->where.name(), 0,
                              "it was moved to another group, where no limit holds it");
        }
        return confirm(op, op.new_value);
    }

    [[nodiscard]] operation_text describe(operation const& op) noexcept {
        operation_text out{
            .job = op.job, .resource = op.resource, .when = op.when, .subject = {}, .old_value = {}, .new_value = {}};
        auto const where = place_of(op);
        if (!where) return out;
        out.subject = detail::path_text<160>((*where)->path(), detail::limit_file(**where, op.new_value));
        out.old_value = detail::limit_text(**where, op.old_value);
        out.new_value = detail::limit_text(**where, op.new_value);
        return out;
    }

private:
    [[nodiscard]] static result<backend> open_here(io& machine, options const& wanted) {
        if (auto const sound = check_name(wanted.name); !sound) return sound.failure();
        auto const who = self_as_owner(machine);
        auto found = who ? tree::discover(machine) : result<tree>(who.failure());
        if (!found) return found.failure();
        auto ready = std::make_unique<state>();
        ready->hierarchies = std::move(found).value();
        if (auto const roomy = ready->room.prepare(ready->hierarchies); !roomy) return roomy.failure();
        if (!ready->hierarchies.has(controller::cpu)) return ready->hierarchies.owner(controller::cpu).why;
        auto run = group::create(ready->hierarchies, nullptr, group_name_of({std::string(wanted.name), *who}));
        if (!run) return run.failure();
        ready->run = std::make_unique<group>(std::move(run).value());
        backend opened(std::move(ready));
        auto const capped = opened.set_cap(wanted.cpus);
        if (!capped) return capped.failure();
        opened.list_resources();
        return opened;
    }

    void list_resources() {
        state_->resources.push_back(resource_id::cpu);
        if (state_->hierarchies.has(controller::memory)) state_->resources.push_back(resource_id::memory);
    }

    [[nodiscard]] result<member*> find_member(job_id id) noexcept {
        auto const at = std::ranges::lower_bound(state_->jobs, id, {}, &member::id);
        if (at == state_->jobs.end() || at->id != id) {
            return make_error(errc::not_found, "find the group of",
                              text<32>("job ").append(detail::number_text(id.value)), 0, "add the job first");
        }
        return &*at;
    }
    [[nodiscard]] result<group*> find(job_id id) noexcept {
        auto const job = find_member(id);
        return job ? result<group*>(&(*job)->where) : result<group*>(job.failure());
    }

    /// What `action` returns for the job's group. `operation` is for errors.
    template <class Action>
    [[nodiscard]] auto with(job_id id, char const* operation, Action action) noexcept
        -> decltype(action(std::declval<group&>())) {
        auto const where = find(id);
        if (!where) return where.failure();
        return or_no_memory(operation, (*where)->name(), [&] { return action(**where); });
    }

    [[nodiscard]] static result<void> unfrozen(group const& where) noexcept {
        auto const frozen = where.frozen();
        if (!frozen) return frozen.failure();
        return *frozen ? make_error(errc::busy, "start a process in the frozen group", where.name(), 0,
                                    "give the job some cpu first")
                       : result<void>();
    }

    [[nodiscard]] result<directory const*> place_of(operation const& op) noexcept {
        auto const where = find(op.job);
        return where ? detail::find_place(**where, op.new_value) : result<directory const*>(where.failure());
    }

    [[nodiscard]] result<void> change(operation const& op, limit const& value) noexcept {
        auto const job = find_member(op.job);
        if (!job) return job.failure();
        auto const where = detail::find_place((*job)->where, value);
        auto const done = where ? detail::put_limit(**where, value) : result<void>(where.failure());
        if (done) (*job)->written.keep(value);
        return done;
    }

    [[nodiscard]] result<void> confirm(operation const& op, limit const& value) noexcept {
        auto const where = place_of(op);
        return where ? detail::confirm(**where, value, state_->scratch) : result<void>(where.failure());
    }
};

static_assert(Backend<backend>);

}  // namespace ration::cgroup
