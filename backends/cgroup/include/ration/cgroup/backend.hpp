// SPDX-License-Identifier: BSL-1.0
/// The cgroup backend: one group for the run, below it one for each job, in whatever hierarchies this machine has.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/cap.hpp>
#include <ration/cgroup/detail/job_group.hpp>
#include <ration/cgroup/detail/operation.hpp>
#include <ration/cgroup/detail/reconcile.hpp>
#include <ration/cgroup/detail/run_group.hpp>
#include <ration/host/backend.hpp>
#include <ration/host/no_memory.hpp>

namespace ration::cgroup {

struct options {
    std::string_view name = "run";  ///< part of the run's group name; see `check_name`
    cpu_cap cpus{};                 ///< limit of all jobs of the run together
    /// The number that `memory_soft` has among the resources of the host, from `first_custom` on; empty: it has none
    std::optional<resource_id> soft_memory{};
};

/// Turns grants of `cpu` (as quota; 0 freezes), `memory` and, on cgroup v2, `memory.soft` into kernel limits.
/// Move-only. The destructor kills what is left in the run's groups and removes them. One thread at a time; the `io`
/// must outlive it. Where memory runs out, every function returns `errc::no_memory` and may be called again
/// (docs/adr/0021); those that change or measure a limit allocate nothing in the steady state.
class backend {
    /// In one place for good, and destroyed from the last to the first: the jobs' groups are below the run's group.
    struct state {
        std::optional<resource_id> soft_memory;
        std::unique_ptr<detail::run_group> run;
        detail::job_groups jobs;
        std::string scratch;
    };
    std::unique_ptr<state> state_;

    explicit backend(std::unique_ptr<state> ready) noexcept : state_(std::move(ready)) {}

public:
    using backend_concept = backend_tag;
    using operation = cgroup::operation;

    /// Finds the hierarchies, makes the run's group and caps it. On an error nothing is left behind.
    /// Errors: not_supported or denied (cpu cannot be limited here: see the remedy), conflict (v2: other processes in
    /// our group), invalid_value (the name), out_of_range (the cap, soft_memory).
    [[nodiscard]] static result<backend> open(io& machine, options const& wanted = {}) noexcept {
        return or_no_memory("open the cgroup backend", wanted.name, [&]() -> result<backend> {
            auto run = detail::run_group::open(machine, wanted.name, wanted.cpus, wanted.soft_memory);
            if (!run) return run.failure();
            return backend(std::make_unique<state>(state{wanted.soft_memory, std::move(run).value(), {}, {}}));
        });
    }

    [[nodiscard]] std::span<resource_id const> resources() const noexcept { return state_->run->resources(); }
    /// The amounts that all jobs can use together.
    [[nodiscard]] millicores capacity() const noexcept { return state_->run->capacity(); }
    [[nodiscard]] tree const& hierarchies() const noexcept { return state_->run->hierarchies(); }
    [[nodiscard]] group const& run() const noexcept { return state_->run->group(); }

    /// Changes the limit of all jobs together, live.
    [[nodiscard]] result<void> set_cap(cpu_cap const& wanted) noexcept {
        return or_no_memory("cap", run().name(), [&] { return state_->run->set_cap(state_->jobs.all(), wanted); });
    }

    /// Makes the job's group. Errors: already_exists (the id or the name), invalid_value (the name), gone (the run's
    /// group).
    [[nodiscard]] result<void> add(job_id id, std::string_view name) noexcept {
        return or_no_memory("add job", name, [&] { return state_->jobs.add(id, name, run()); });
    }

    /// Kills what is left of the job and removes its group; from then on the id is unknown. On an error the job stays
    /// known, and `remove` may be called again.
    [[nodiscard]] result<void> remove(job_id id) noexcept {
        return with(id, "remove", [&](detail::job_group& job) {
            auto const killed = job.group().kill();
            auto const removed = killed ? job.group().remove() : killed;
            if (removed) state_->jobs.forget(id);
            return removed;
        });
    }

    [[nodiscard]] result<void> freeze(job_id id) noexcept {
        return with(id, "freeze", [](detail::job_group& job) { return job.group().freeze(); });
    }
    [[nodiscard]] result<void> thaw(job_id id) noexcept {
        return with(id, "thaw", [](detail::job_group& job) { return job.group().thaw(); });
    }
    [[nodiscard]] result<void> kill(job_id id) noexcept {
        return with(id, "kill", [](detail::job_group& job) { return job.group().kill(); });
    }

    /// Asks the job to end: SIGTERM to each process in and below its group, which is thawed to receive it.
    [[nodiscard]] result<void> ask_to_end(job_id id) noexcept {
        return with(id, "ask to end", [](detail::job_group& job) { return job.ask_to_end(); });
    }

    /// Puts a process into the job's group in every hierarchy. Error: busy when the group is frozen: it could not even
    /// start.
    [[nodiscard]] result<void> place(job_id id, int pid) noexcept {
        auto const job = state_->jobs.find(id);
        return job ? (*job)->place(pid) : result<void>(job.failure());
    }

    /// Puts `pid`, a process of the job, back into the groups that it has left, and writes files again that another
    /// program has changed since `apply`. Where nothing has changed this is one read for each file. Error: not_found
    /// (the job).
    [[nodiscard]] result<drift> reconcile(job_id id, int pid) noexcept {
        return with(id, "reconcile",
                    [&](detail::job_group& job) -> result<drift> { return job.reconcile(pid, state_->scratch); });
    }

    /// For clone3 with CLONE_INTO_CGROUP; -1 without a v2 group: then start the process held back, and `place`
    /// it. `place` it in any case. Error: busy when the group is frozen: the new process would hang before its first
    /// instruction.
    [[nodiscard]] result<int> clone_directory(job_id id) noexcept {
        auto const job = state_->jobs.find(id);
        return job ? (*job)->clone_directory() : result<int>(job.failure());
    }

    /// The directory of the job's group that has the controller's files; null where no hierarchy has the controller.
    /// Good until the job is removed.
    [[nodiscard]] result<directory const*> place_of(job_id id, controller which) noexcept {
        auto const job = state_->jobs.find(id);
        return job ? result<directory const*>((*job)->group().place_of(which))
                   : result<directory const*>(job.failure());
    }

    [[nodiscard]] result<std::vector<int>> members(job_id id) noexcept {
        return with(id, "list the members of", [](detail::job_group& job) { return job.group().members(); });
    }

    /// Sets a weight, a set of cpus or a number of processes, for which no grant exists.
    template <class Limit>
    [[nodiscard]] result<void> set(job_id id, Limit const& limit) noexcept {
        return with(id, "limit", [&](detail::job_group& job) { return cgroup::set(job.group(), limit); });
    }

    [[nodiscard]] result<observation> observe(job_id id) noexcept {
        auto const job = state_->jobs.find(id);
        return job ? cgroup::observe((*job)->group(), state_->scratch) : result<observation>(job.failure());
    }

    /// Errors: not_found (the job), not_supported (the resource), no_capacity (more cpu than the whole run has),
    /// out_of_range.
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        auto const job = state_->jobs.find(wanted.job);
        if (!job) return job.failure();
        group const& where = (*job)->group();
        if (wanted.amount < 0) return make_error(errc::out_of_range, "plan", where.name(), 0, "an amount is 0 or more");
        if (wanted.resource == state_->soft_memory)
            return or_no_memory("plan memory.soft for", where.name(),
                                [&] { return plan_soft_memory(where, wanted, out, state_->scratch); });
        switch (wanted.resource) {
            case resource_id::cpu:
                if (wanted.amount != unlimited && wanted.amount > capacity().count) {
                    return make_error(errc::no_capacity, "plan cpu for", where.name(), 0,
                                      "give no job more than the run may use");
                }
                return or_no_memory("plan cpu for", where.name(),
                                    [&] { return plan_cpu(where, wanted.job, wanted.amount, out, state_->scratch); });
            case resource_id::memory:
                return or_no_memory("plan memory for", where.name(), [&] {
                    return plan_memory(where, wanted.job, wanted.amount, out, state_->scratch);
                });
            default:
                return make_error(errc::not_supported, "plan", where.name(), 0, "this backend limits cpu and memory");
        }
    }

    /// All or nothing: after an error the file holds the old value, unless that could not be written either. Writes;
    /// `verify` reads back.
    [[nodiscard]] result<void> apply(operation const& op) noexcept {
        auto const job = state_->jobs.find(op.job);
        if (!job) return job.failure();
        auto const done = (*job)->write(op.new_value);
        if (!done && done.failure().code != errc::gone && done.failure().code != errc::not_found)
            static_cast<void>((*job)->write(op.old_value));  // the first error is reported
        return done;
    }
    /// Writes the old value and reads it back. Errors: those of `apply`; unverified.
    [[nodiscard]] result<void> undo(operation const& op) noexcept {
        auto const job = state_->jobs.find(op.job);
        auto const done = job ? (*job)->write(op.old_value) : result<void>(job.failure());
        return done ? (*job)->confirm(op.old_value, state_->scratch) : done;
    }

    /// Error: unverified when the file shows another value than the operation's new one, or the job's first process is
    /// not in the group.
    [[nodiscard]] result<void> verify(operation const& op) noexcept {
        auto const job = state_->jobs.find(op.job);
        return job ? (*job)->verify(op, state_->scratch) : result<void>(job.failure());
    }

    [[nodiscard]] operation_text describe(operation const& op) noexcept {
        operation_text out{
            .job = op.job, .resource = op.resource, .when = op.when, .subject = {}, .old_value = {}, .new_value = {}};
        if (auto const job = state_->jobs.find(op.job)) (*job)->describe(op, out);
        return out;
    }

private:
    /// What `action` returns for the job's group. `operation` is for errors.
    template <class Action>
    [[nodiscard]] auto with(job_id id, char const* operation, Action action) noexcept
        -> decltype(action(std::declval<detail::job_group&>())) {
        auto const job = state_->jobs.find(id);
        if (!job) return job.failure();
        return or_no_memory(operation, (*job)->group().name(), [&] { return action(**job); });
    }
};

static_assert(Backend<backend>);

}  // namespace ration::cgroup
