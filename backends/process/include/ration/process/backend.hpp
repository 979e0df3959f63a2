// SPDX-License-Identifier: BSL-1.0
/// The backend that needs no privilege: whole cores by CPU affinity, fractions by stopping and continuing a job's
/// processes. Sources: signal(7), sched_setaffinity(2), clock_getcpuclockid(3).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/host/backend.hpp>
#include <ration/host/no_memory.hpp>
#include <ration/host/plan.hpp>
#include <ration/process/cpus.hpp>
#include <ration/process/detail/approximations.hpp>
#include <ration/process/detail/guard.hpp>
#include <ration/process/detail/job.hpp>
#include <ration/process/detail/operation.hpp>
#include <ration/process/tree.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>

namespace ration::process {

/// What shows that a process is a job's: anything, or only its descent and its session. A process can be given any
/// environment.
enum class evidence : std::uint8_t { any, kinship };

/// Limits jobs whose first process it was given. One thread only; the host calls `run_due` from its loop:
///     poll(..., until next_wakeup()); b.run_due(now());
/// Amounts of `cpu`: 0 stops the job, `unlimited` lets it run, whole cores bind it to as many CPUs (the least claimed
/// ones), anything else is a budget per 100 ms that is kept by SIGSTOP and SIGCONT. Never leaves a job stopped: the
/// destructor and `remove` continue it. Where memory runs out, functions that need some return `errc::no_memory`
/// (docs/adr/0021); a look at all processes is then repeated at the next call, and what is known stays known.
class backend {
public:
    using backend_concept = backend_tag;

    using operation = process::operation;

private:
    using entry = detail::controlled_job;

    guard guard_;
    cpu_set cpus_;
    std::vector<entry> jobs_;
    process_table table_;
    std::vector<char> claimed_;         ///< rows of it that belong to a job by descent or session
    nanoseconds scanned_{}, rescan_{};  ///< the last look at all processes, and when the next is due

    explicit backend(guard keeper, cpu_set const& cpus) noexcept : guard_(std::move(keeper)), cpus_(cpus) {}

public:
    /// Runs jobs within `cpus`, by default within those that this process may use itself. Makes this process the one to
    /// which the jobs' orphans come. Errors: `errc::not_found` without /proc, `errc::empty_set` when none of the CPUs
    /// may be used.
    [[nodiscard]] static result<backend> open() noexcept { return open(cpu_set::of_thread(0)); }
    [[nodiscard]] static result<backend> open(cpu_set const& cpus) noexcept {
        cpu_set const usable = cpus & cpu_set::of_thread(0);
        if (usable.empty()) {
            return error{.code = errc::empty_set,
                         .operation = "choose CPUs",
                         .subject = cpus.list().view(),
                         .remedy = "name CPUs that this process may use: taskset -pc $$"};
        }
        if (auto const reattached = become_subreaper(); !reattached) return reattached.failure();
        auto keeper = guard::start();
        if (!keeper) return keeper.failure();
        backend out(std::move(*keeper), usable);
        if (auto const scanned = out.table_.scan(); !scanned) return scanned.failure();
        return out;
    }

    backend(backend&&) noexcept = default;
    backend& operator=(backend&&) = delete;
    ~backend() noexcept {
        for (entry& job : jobs_) job.resume(now());
    }

    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr std::array limited{resource_id::cpu};
        return limited;
    }
    /// What jobs share: 1000 per CPU of the set.
    [[nodiscard]] millicores capacity() const noexcept { return {std::int64_t{1000} * cpus_.size()}; }
    [[nodiscard]] cpu_set const& cpus() const noexcept { return cpus_; }

    /// What a user must know when this backend is used in place of the kernel's own limits.
    [[nodiscard]] static std::span<std::string_view const> approximations() noexcept { return detail::approximations; }

    // --- jobs
    // ------------------------------------------------------------------------------------------------------------------

    /// Takes charge of a job, unlimited at first. Best called from `launch_spec::place`: then all of it is bound from
    /// the start.
    [[nodiscard]] result<void> add(job_id job, tree_root root) noexcept {
        if (find(job) != nullptr)
            return error{.code = errc::already_exists, .operation = "add a job", .subject = detail::job_text(job)};
        auto const room = or_no_memory("add a job", detail::job_text(job), [this]() -> result<void> {
            jobs_.reserve(jobs_.size() + 1);  // first: a job that was bound must not be forgotten
            return {};
        });
        if (!room) return room;
        auto followed = tree::of(std::move(root));
        if (!followed) return followed.failure();
        // An reattached job may be bound, or stopped, by the controller that it had before.
        cpu_set const has = cpu_set::of_thread(followed->root().pid), common = has & cpus_;
        entry added(job, std::move(*followed), has, cpus_, capacity().count);
        if (auto const bound = added.bind(has, common.empty() ? cpus_ : common); !bound) return bound;
        added.processes().signal(SIGCONT);
        jobs_.push_back(std::move(added));
        return {};
    }

    /// Binds a job to some of our CPUs: from now on every amount is chosen among these. Errors: not_found, empty_set
    /// (none of them is ours).
    [[nodiscard]] result<void> confine(job_id job, cpu_set const& cpus) noexcept {
        entry* const found = find(job);
        cpu_set const home = cpus & cpus_;
        if (found == nullptr || home.empty()) {
            return found == nullptr
                       ? unknown("bind a job", job)
                       : error{.code = errc::empty_set, .operation = "bind a job", .subject = cpus.list().view()};
        }
        found->set_home(home);
        return rebind(*found, home);
    }

    /// Lets go of a job: what is left of it runs on, unlimited.
    [[nodiscard]] result<void> remove(job_id job) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return unknown("remove a job", job);
        found->resume(now());
        if (pid_t const session = found->processes().session(); session != 0) guard_.forget_group(session);
        if (found != &jobs_.back()) *found = std::move(jobs_.back());
        jobs_.pop_back();
        return {};
    }

    /// Stops every process of the job until `thaw`, whatever its limit.
    [[nodiscard]] result<void> freeze(job_id job) noexcept { return set_frozen(job, true); }
    [[nodiscard]] result<void> thaw(job_id job) noexcept { return set_frozen(job, false); }

    /// Sends a signal to every process of the job. A stopped process hears it when it runs next; SIGKILL at once.
    [[nodiscard]] result<void> signal(job_id job, int number) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return unknown("signal a job", job);
        rescan(now());
        found->processes().signal(number);
        return {};
    }

    /// Asks the job to end (SIGTERM) and lifts its freeze and its limit, so that it can.
    [[nodiscard]] result<void> ask_to_end(job_id job) noexcept {
        if (auto const sent = signal(job, SIGTERM); !sent) return sent;
        entry& found = *find(job);
        found.set_frozen(false, now(), guard_);
        found.set_amount(unlimited, now(), guard_);
        return {};
    }

    /// Kills every process of the job and returns when none is left. See `terminate` for the error.
    [[nodiscard]] result<void> kill(job_id job) noexcept {
        entry* const found = find(job);
        return found != nullptr ? terminate(found->processes(), nanoseconds{}) : unknown("kill a job", job);
    }

    /// Whether a process is one of the job's, as of now.
    [[nodiscard]] bool contains(job_id job, pid_t pid, evidence by = evidence::any) noexcept {
        rescan(now());
        entry* const found = find(job);
        return found != nullptr && std::ranges::any_of(found->processes().members(), [&](tree::member const& m) {
                   return m.info.pid == pid && (m.kin || by == evidence::any);
               });
    }

    /// Living processes of the job now; 0 also when the job is not known.
    [[nodiscard]] std::size_t alive(job_id job) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return 0;
        rescan(now());
        return found->processes().alive();
    }

    // --- time
    // ------------------------------------------------------------------------------------------------------------------

    /// When `run_due` is needed next, on the clock of `process::now`; the far future when nothing is limited.
    [[nodiscard]] nanoseconds next_wakeup() const noexcept {
        nanoseconds soonest = detail::never;
        for (entry const& job : jobs_) soonest = std::min(soonest, job.due());
        return soonest;
    }

    /// Stops and continues whoever is due. A late call costs precision within the period and nothing else.
    void run_due(nanoseconds time) noexcept {
        bool const any = std::ranges::any_of(jobs_, [time](entry const& job) { return job.due() <= time; });
        if (any && time >= rescan_) rescan(time);
        for (entry& job : jobs_)
            if (job.due() <= time) job.step(time, guard_);
    }

    // --- Backend
    // ---------------------------------------------------------------------------------------------------------------

    [[nodiscard]] result<observation> observe(job_id job) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return unknown("observe a job", job);
        nanoseconds const time = now();
        if (time >= rescan_) rescan(time);
        observation out;
        out.cpu_time = found->processes().cpu_time();
        out.throttled = found->throttled(time);
        for (tree::member const& m : found->processes().members()) {
            out.memory.count += m.info.zombie() ? 0 : detail::resident_bytes(m.info.pid);
            out.processes += m.info.zombie() ? 0 : 1;
        }
        return out;
    }

    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        if (wanted.resource != resource_id::cpu) {
            return error{.code = errc::not_supported,
                         .operation = "limit a job",
                         .subject = detail::job_text(wanted.job),
                         .remedy = "without cgroups only cpu can be limited; see ration doctor"};
        }
        if (wanted.amount < 0 || (wanted.amount > max_amount && wanted.amount != unlimited)) {
            return error{.code = errc::invalid_value,
                         .operation = "limit a job",
                         .subject = detail::job_text(wanted.job),
                         .remedy = "an amount is 0, a number of millicores, or unlimited"};
        }
        entry const* const job = find(wanted.job);
        if (job == nullptr) return unknown("limit a job", wanted.job);
        return or_no_memory("limit a job", detail::job_text(wanted.job),
                            [&] { return plan_changes(*job, wanted, out); });
    }

    [[nodiscard]] result<void> apply(operation const& op) noexcept {
        return put(op.job, op.what, op.new_cpus, op.new_amount);
    }
    [[nodiscard]] result<void> undo(operation const& op) noexcept {
        return put(op.job, op.what, op.old_cpus, op.old_amount);
    }

    /// Reads back: every thread's CPUs; of a job that shall stand still, every process's state, for at most a second.
    [[nodiscard]] result<void> verify(operation const& op) noexcept {
        entry* const job = find(op.job);
        if (job == nullptr) return unknown("verify", op.job);
        auto const differs = [&](char const* remedy) {
            return error{
                .code = errc::unverified, .operation = "verify", .subject = detail::job_text(op.job), .remedy = remedy};
        };
        if (op.what == attribute::cpus) {
            bool const inside = std::ranges::all_of(job->processes().members(), [&](tree::member const& m) {
                return m.info.zombie() || detail::within(m.info.pid, op.new_cpus);
            });
            return inside ? result<void>{} : differs("the job, or something else, changes its CPU affinity as well");
        }
        if (job->amount() != op.new_amount) return differs("another limit was set in between");
        return op.new_amount != 0 || stands_still(*job)
                   ? result<void>{}
                   : differs("a process has not stopped yet; the machine is very busy");
    }

    [[nodiscard]] operation_text describe(operation const& op) const noexcept { return detail::describe(op); }

private:
    [[nodiscard]] entry* find(job_id job) noexcept {
        auto const at = std::ranges::find(jobs_, job, &entry::id);
        return at != jobs_.end() ? &*at : nullptr;
    }

    [[nodiscard]] static error unknown(char const* operation, job_id job) noexcept {
        return {.code = errc::not_found,
                .operation = operation,
                .subject = detail::job_text(job),
                .remedy = "add the job first"};
    }

    [[nodiscard]] result<void> plan_changes(entry const& job, setting const& wanted,
                                            ration::plan<operation>& out) const {
        cpu_set const cpus = choose(job, wanted.amount, out);
        if (cpus != job.cpus())
            out.push_back({.job = wanted.job, .what = attribute::cpus, .old_cpus = job.cpus(), .new_cpus = cpus});
        if (wanted.amount != job.amount()) {
            out.push_back(
                {.job = wanted.job, .what = attribute::limit, .old_amount = job.amount(), .new_amount = wanted.amount});
        }
        return {};
    }

    /// The CPUs for an amount; a job that has its amount already stays where it is.
    [[nodiscard]] cpu_set choose(entry const& job, std::int64_t amount,
                                 std::span<operation const> planned) const noexcept {
        if (amount <= 0 || amount >= std::int64_t{1000} * job.home().size() || amount % 1000 != 0) return job.home();
        auto const count = static_cast<unsigned>(amount / 1000);
        if (job.amount() == amount && job.cpus().size() == count) return job.cpus();
        detail::cpu_claims claims{};
        for (entry const& other : jobs_) {
            cpu_set const* cpus = &other.cpus();
            for (operation const& op : planned)
                cpus = op.job == other.id() && op.what == attribute::cpus ? &op.new_cpus : cpus;
            if (other.id() != job.id() && *cpus != cpus_) cpus->for_each([&claims](unsigned cpu) { ++claims[cpu]; });
        }
        return detail::least_claimed(job.home(), count, claims, job.cpus());
    }

    [[nodiscard]] result<void> put(job_id job, attribute what, cpu_set const& cpus, std::int64_t amount) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return unknown("limit a job", job);
        if (nanoseconds const time = now(); time >= scanned_ + milliseconds(10))
            rescan(time);  // once for all operations of a plan
        if (found->processes().alive() == 0) {
            return error{.code = errc::gone,
                         .operation = "limit a job",
                         .subject = detail::job_text(job),
                         .system = ESRCH,
                         .remedy = "all its processes have ended; remove it"};
        }
        if (what == attribute::cpus) return rebind(*found, cpus);
        found->set_amount(amount, now(), guard_);
        return {};
    }

    /// Twice, with a look between: a process born during the first pass may have a parent that was not bound yet.
    [[nodiscard]] result<void> rebind(entry& job, cpu_set const& cpus) noexcept {
        cpu_set const before = job.cpus();
        auto const first = job.bind(before, cpus);
        if (!first) return first;
        rescan(now());
        return job.bind(before, cpus);
    }

    [[nodiscard]] result<void> set_frozen(job_id job, bool frozen) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return unknown(frozen ? "freeze a job" : "thaw a job", job);
        rescan(now());
        found->set_frozen(frozen, now(), guard_);
        if (frozen && !stands_still(*found)) {
            return error{.code = errc::busy,
                         .operation = "freeze a job",
                         .subject = detail::job_text(job),
                         .system = EBUSY,
                         .remedy = "a process has not stopped yet: the machine is very busy; ask again"};
        }
        return {};
    }

    /// Looks at all processes once, for all jobs. Costs milliseconds on a crowded machine, so it never takes more than
    /// 1 % of the time.
    void rescan(nanoseconds time) noexcept {
        nanoseconds const spent = detail::spent_here();
        auto const seen = or_no_memory("list processes", "/proc", [&]() -> result<void> {
            if (auto const scanned = table_.scan(); !scanned) return scanned;
            claimed_.assign(table_.rows().size(), 0);
            for (entry& job : jobs_) job.find_kin(table_, claimed_);
            for (entry& job : jobs_) job.complete(table_, claimed_, guard_);
            return {};
        });
        if (!seen) return;  // /proc was there when we began; what is known stays known
        scanned_ = time;
        rescan_ = time + std::max(detail::scan_interval, nanoseconds{(detail::spent_here() - spent).count * 100});
    }

    [[nodiscard]] bool stands_still(entry const& job) noexcept {
        for (nanoseconds const last = now() + seconds(1);; ::usleep(500)) {
            rescan(now());
            if (std::ranges::none_of(job.processes().members(), detail::moving)) return true;
            if (now() > last) return false;
        }
    }
};

static_assert(Backend<backend>);

}  // namespace ration::process
