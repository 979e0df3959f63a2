// SPDX-License-Identifier: BSL-1.0
/// The backend without privileges: whole cores by CPU affinity, fractions by stopping and continuing the processes
/// of a job. Used where cgroups are not available. Sources: signal(7), sched_setaffinity(2),
/// clock_getcpuclockid(3).
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

/// The evidence that a process belongs to a job: any, or only descent and session. A process can be started with
/// any environment.
enum class evidence : std::uint8_t { any, kinship };

/// Limits jobs by their first process. For one thread; the host calls `run_due` from its loop:
///     poll(..., until next_wakeup()); b.run_due(now());
/// Amounts of `cpu`: 0 stops the job, `unlimited` lets it run, whole cores bind it to as many CPUs (the least claimed
/// ones), anything else is a budget per 100 ms that is kept by SIGSTOP and SIGCONT. Never leaves a job stopped: the
/// destructor and `remove` continue it. Where memory runs out, functions that need some return `errc::no_memory`
/// (docs/adr/0021); a look at all processes is then repeated at the next call, and what is known stays known.
class backend {
public:
    /// Declares the class as a backend.
    using backend_concept = backend_tag;

    /// One change of a job.
    using operation = process::operation;

private:
    using entry = detail::controlled_job;

    guard guard_;
    cpu_set cpus_;
    std::vector<entry> jobs_;
    process_table table_;
    std::vector<char> claimed_;         ///< rows that belong to a job by descent or session
    nanoseconds scanned_{}, rescan_{};  ///< the last scan of all processes, and the time of the next

    explicit backend(guard keeper, cpu_set const& cpus) noexcept : guard_(std::move(keeper)), cpus_(cpus) {}

public:
    /// Runs jobs within `cpus`; by default within the CPUs that this process may use. Makes this process the parent
    /// of the jobs' orphans. Errors: `errc::not_found` without /proc, `errc::empty_set` if none of the CPUs may be
    /// used.
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
    /// Continues all jobs.
    ~backend() noexcept {
        for (entry& job : jobs_) job.resume(now());
    }

    /// Only `cpu` can be limited.
    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr std::array limited{resource_id::cpu};
        return limited;
    }
    /// The amount that jobs share: 1000 for each CPU of the set.
    [[nodiscard]] millicores capacity() const noexcept { return {std::int64_t{1000} * cpus_.size()}; }
    /// The CPUs on which jobs run.
    [[nodiscard]] cpu_set const& cpus() const noexcept { return cpus_; }

    /// Sentences about the inaccuracies of this backend, for reports.
    [[nodiscard]] static std::span<std::string_view const> approximations() noexcept { return detail::approximations; }

    // --- jobs
    // ------------------------------------------------------------------------------------------------------------------

    /// Adds a job, which is unlimited at first. Called from `launch_spec::place`, it binds all processes from the
    /// start. Errors: already_exists, gone.
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
        // The former controller of a reattached job may have bound or stopped it.
        cpu_set const has = cpu_set::of_thread(followed->root().pid), common = has & cpus_;
        entry added(job, std::move(*followed), has, cpus_, capacity().count);
        if (auto const bound = added.bind(has, common.empty() ? cpus_ : common); !bound) return bound;
        added.processes().signal(SIGCONT);
        jobs_.push_back(std::move(added));
        return {};
    }

    /// Binds a job to some of the CPUs; later amounts are chosen among these. Errors: not_found, empty_set.
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

    /// Removes a job; its processes continue without a limit.
    [[nodiscard]] result<void> remove(job_id job) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return unknown("remove a job", job);
        found->resume(now());
        if (pid_t const session = found->processes().session(); session != 0) guard_.forget_group(session);
        if (found != &jobs_.back()) *found = std::move(jobs_.back());
        jobs_.pop_back();
        return {};
    }

    /// Stops every process of the job until `thaw`, independently of its limit.
    [[nodiscard]] result<void> freeze(job_id job) noexcept { return set_frozen(job, true); }
    /// Ends a freeze; the limit applies again.
    [[nodiscard]] result<void> thaw(job_id job) noexcept { return set_frozen(job, false); }

    /// Sends a signal to every process of the job. A stopped process handles it when it continues; SIGKILL at once.
    [[nodiscard]] result<void> signal(job_id job, int number) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return unknown("signal a job", job);
        rescan(now());
        found->processes().signal(number);
        return {};
    }

    /// Sends SIGTERM, and lifts freeze and limit so that the job can end.
    [[nodiscard]] result<void> ask_to_end(job_id job) noexcept {
        if (auto const sent = signal(job, SIGTERM); !sent) return sent;
        entry& found = *find(job);
        found.set_frozen(false, now(), guard_);
        found.set_amount(unlimited, now(), guard_);
        return {};
    }

    /// Kills every process of the job; returns when none is left. Errors: those of `terminate`.
    [[nodiscard]] result<void> kill(job_id job) noexcept {
        entry* const found = find(job);
        return found != nullptr ? terminate(found->processes(), nanoseconds{}) : unknown("kill a job", job);
    }

    /// True if a process belongs to the job now.
    [[nodiscard]] bool contains(job_id job, pid_t pid, evidence by = evidence::any) noexcept {
        rescan(now());
        entry* const found = find(job);
        return found != nullptr && std::ranges::any_of(found->processes().members(), [&](tree::member const& m) {
                   return m.info.pid == pid && (m.kin || by == evidence::any);
               });
    }

    /// The number of living processes of the job; 0 also for an unknown job.
    [[nodiscard]] std::size_t alive(job_id job) noexcept {
        entry* const found = find(job);
        if (found == nullptr) return 0;
        rescan(now());
        return found->processes().alive();
    }

    // --- time
    // ------------------------------------------------------------------------------------------------------------------

    /// The time of the next `run_due`, on the clock of `process::now`; the far future if no job is limited.
    [[nodiscard]] nanoseconds next_wakeup() const noexcept {
        nanoseconds soonest = detail::never;
        for (entry const& job : jobs_) soonest = std::min(soonest, job.due());
        return soonest;
    }

    /// Stops and continues the jobs that are due. A late call only costs precision within the period.
    void run_due(nanoseconds time) noexcept {
        bool const any = std::ranges::any_of(jobs_, [time](entry const& job) { return job.due() <= time; });
        // Limits are exact for known processes; new ones are found at the next scan.
        if (any && time >= rescan_) rescan(time);
        for (entry& job : jobs_)
            if (job.due() <= time) job.step(time, guard_);
    }

    // --- Backend
    // ---------------------------------------------------------------------------------------------------------------

    /// Measures CPU time, throttled time, memory and processes. Error: not_found.
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

    /// Plans the operations of a setting. Errors: not_supported, invalid_value, not_found.
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

    /// Applies an operation. Errors: gone, those of sched_setaffinity(2).
    [[nodiscard]] result<void> apply(operation const& op) noexcept {
        return put(op.job, op.what, op.new_cpus, op.new_amount);
    }
    /// Sets the old value again.
    [[nodiscard]] result<void> undo(operation const& op) noexcept {
        return put(op.job, op.what, op.old_cpus, op.old_amount);
    }

    /// Reads back the CPUs of every thread, or, for a stopped job, waits at most 1 s until its processes have
    /// stopped.
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

    /// The operation for the event log.
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

    /// The CPUs for an amount. A job that already has the amount keeps its CPUs.
    [[nodiscard]] cpu_set choose(entry const& job, std::int64_t amount,
                                 std::span<operation const> planned) const noexcept {
        // Only whole cores bind a job; all other amounts use the whole set.
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

    /// Binds twice, with a scan between: the parent of a new process may not have been bound in the first pass.
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

    /// Scans all processes once, for all jobs. It takes milliseconds on a machine with many processes, so it is
    /// limited to 1 % of the time.
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
