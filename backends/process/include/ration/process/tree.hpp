// SPDX-License-Identifier: BSL-1.0
/// All processes of a job without a cgroup: found by descent, by session, and by a mark in their environment.
/// Sources: proc(5), credentials(7), prctl(2) PR_SET_CHILD_SUBREAPER.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/host/no_memory.hpp>
#include <ration/process/child.hpp>
#include <ration/process/marked.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process {

/// Makes orphans among this process's descendants its own children instead of init's, so that they can be found by
/// descent and waited for. Applies to the whole program until its exit.
[[nodiscard]] inline result<void> become_subreaper() noexcept {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0)
        return system_error("reattach orphans", "controller", errno, "Linux 3.4 or later is needed");
    return {};
}

/// The first process of a job.
struct tree_root {
    /// The first process.
    pid_t pid = 0;
    std::uint64_t start_time = 0;  ///< 0: the process that has the number now
    /// KEY=VALUE that only this launch has in its environment (its token). It finds processes that left the session
    /// and lost their parent. Empty: such processes are not found.
    std::string mark = {};
};

/// The processes of one job. Refreshed from a table that all jobs share; O(processes in the table), without allocation
/// after the first refreshes. A table of descendants has to be below this process and the members.
class tree {
public:
    /// A process of the job.
    struct member {
        /// As of the last scan.
        process_info info;
        nanoseconds cpu{};   ///< of its threads, as last read
        bool fresh = false;  ///< first seen in the last refresh
        bool kin =
            false;  ///< by descent or session; otherwise by its environment alone, which any process can be given
    };

private:
    enum class bond : std::uint8_t { none, environment, kin };

    tree_root root_;
    pid_t session_ = 0;  ///< created for the job, or 0
    bool session_held_ = true;
    bool ours_ = false;  ///< started by this process, which so becomes the parent of the job's orphans
    bool lost_ = false;  ///< a member has ended since the refresh before the last one
    std::vector<member> members_, next_;
    std::vector<bond> mine_;  ///< for each row of the table
    /// Processes without the mark, whose environment was read; ordered by pid
    std::vector<std::pair<pid_t, std::uint64_t>> refused_, still_refused_;
    nanoseconds departed_{}, cpu_{};

public:
    /// Follows an existing process and everything that belongs to it. Error: gone.
    [[nodiscard]] static result<tree> of(tree_root root) noexcept {
        return or_no_memory("follow a job", "process", [&] { return follow(std::move(root)); });
    }

    /// The first process.
    [[nodiscard]] tree_root const& root() const noexcept { return root_; }
    /// The processes as of the last refresh, including zombies; ordered by pid.
    [[nodiscard]] std::span<member const> members() const noexcept { return members_; }
    /// One of them; nullptr for another process. O(log members).
    [[nodiscard]] member const* find(pid_t pid) const noexcept {
        auto const at = std::ranges::lower_bound(members_, pid, {}, [](member const& m) { return m.info.pid; });
        return at != members_.end() && at->info.pid == pid ? &*at : nullptr;
    }
    /// The number of processes that are not zombies.
    [[nodiscard]] std::size_t alive() const noexcept {
        return static_cast<std::size_t>(
            std::ranges::count_if(members_, [](member const& m) { return !m.info.zombie(); }));
    }

    /// Finds the processes of the job in the table. For several jobs on one table, see `find_kin`.
    void refresh(process_table const& table) {
        std::vector<char> none(table.rows().size(), 0);
        find_kin(table, none);
        complete(table, none);
    }

    /// First half of a refresh: processes by descent or session. Marks their rows in `claimed`, which has an entry
    /// for each row. So a process of one job that copied the environment of another does not belong to the other.
    void find_kin(process_table const& table, std::vector<char>& claimed) {
        mine_.assign(table.rows().size(), bond::none);
        mark_known(table, bond::kin);
        mark_session(table);
        mark_descendants(table, bond::kin);
        for (std::size_t i = 0; i < mine_.size(); ++i)
            if (mine_[i] == bond::kin) claimed[i] = 1;
    }

    /// Second half, after the first half of every job: adds unclaimed processes with the mark of this job.
    void complete(process_table const& table, std::vector<char> const& claimed) {
        mark_known(table, bond::environment);
        mark_by_environment(table, claimed);
        mark_descendants(table, bond::environment);
        for (std::size_t i = 0; i < mine_.size(); ++i)
            mine_[i] = mine_[i] == bond::environment && claimed[i] != 0 ? bond::none : mine_[i];
        reattach_marked(table);
    }

    /// True if a table of descendants may have lacked a process: one whose parent ended, and which then became the
    /// child of a process that is not of this program.
    [[nodiscard]] bool may_have_strays() const noexcept { return lost_ && !ours_; }

    /// CPU time of all present and former processes. Clocks of members are exact. Children that ended between two
    /// refreshes are known to 10 ms from their parents' accounts. Never decreases.
    [[nodiscard]] nanoseconds cpu_time() noexcept {
        nanoseconds sum = departed_;
        for (member& m : members_) {
            m.cpu = cpu_clock(m.info.pid).value_or(m.cpu);
            sum = sum + m.cpu + detail::from_ticks(m.info.children_ticks);
        }
        cpu_ = std::max(cpu_, sum);
        return cpu_;
    }

    /// The session and process group that was created for the job; 0 if it runs in the session of another program.
    [[nodiscard]] pid_t session() const noexcept { return session_; }

    /// Signals every process: the job's group in one call, others one by one.
    void signal(int number) const noexcept {
        // The group is signalled in one call, so no member can escape by forking meanwhile.
        bool const grouped = session_ != 0 && std::ranges::any_of(members_, [&](member const& m) {
                                 auto const row = m.info.group == session_ ? read_process(m.info.pid) : std::nullopt;
                                 // So the number still belongs to the job
                                 return row && row->start_time == m.info.start_time && row->group == session_;
                             });
        if (grouped) ::kill(-session_, number);
        for (member const& m : members_)
            if (!m.info.zombie() && !(grouped && m.info.group == session_)) detail::signal_exactly(m.info, number);
    }

    /// Reaps zombies that became children of this process. The first process is reaped by its launcher.
    void reap_orphans() const noexcept {
        for (member const& m : members_) {
            if (m.info.zombie() && m.info.parent == ::getpid() && m.info.pid != root_.pid) {
                siginfo_t ignored{};
                ::waitid(P_PID, static_cast<id_t>(m.info.pid), &ignored, WEXITED | WNOHANG);
            }
        }
    }

private:
    tree() noexcept = default;

    [[nodiscard]] static result<tree> follow(tree_root root) {
        auto const row = read_process(root.pid);
        if (!row || (root.start_time != 0 && row->start_time != root.start_time)) {
            return error{.code = errc::gone,
                         .operation = "follow a job",
                         .subject = "process",
                         .system = ESRCH,
                         .remedy = "its first process has ended; start the job again"};
        }
        tree out;
        out.root_ = std::move(root);
        out.root_.start_time = row->start_time;
        out.session_ = row->session == row->pid ? row->pid : 0;
        out.ours_ = row->parent == ::getpid();
        out.members_.push_back({.info = *row, .kin = true});
        process_table table;
        if (auto const scanned = table.scan(); !scanned) return scanned.failure();
        out.refresh(table);
        return out;
    }

    void mark_known(process_table const& table, bond how) noexcept {
        for (member const& m : members_) {
            process_info const* const row = m.kin == (how == bond::kin) ? table.find(m.info.pid) : nullptr;
            if (row != nullptr && row->start_time == m.info.start_time) {
                bond& mine = mine_[static_cast<std::size_t>(row - table.rows().data())];
                mine = std::max(mine, how);
            }
        }
    }

    /// Excludes this process, init, and processes that are older than the job.
    [[nodiscard]] bool candidate(process_info const& row) const noexcept {
        return row.start_time >= root_.start_time && row.pid != ::getpid() && row.pid != 1;
    }

    /// A session keeps its number while it has a member, so it stays the job's until a scan of all processes finds it
    /// empty. A leader other than the root shows that the number was reused.
    void mark_session(process_table const& table) noexcept {
        process_info const* const leader = table.find(session_);
        bool const reused = leader != nullptr && (root_.pid != session_ || leader->start_time != root_.start_time);
        bool const held = session_ != 0 && session_held_ && !reused;
        session_held_ = held && !table.whole();
        for (std::size_t i = 0; i < table.rows().size() && held; ++i) {
            process_info const& row = table.rows()[i];
            if (row.session == session_ && candidate(row)) {
                mine_[i] = bond::kin;
                session_held_ = true;
            }
        }
    }

    void mark_descendants(process_table const& table, bond how) noexcept {
        auto const& rows = table.rows();
        // Parents can have higher numbers than their children, so one pass is not enough.
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                if (mine_[i] != bond::none || !candidate(rows[i])) continue;
                process_info const* const parent = table.find(rows[i].parent);
                if (parent != nullptr && mine_[static_cast<std::size_t>(parent - rows.data())] == how) {
                    mine_[i] = how;
                    changed = true;
                }
            }
        }
    }

    /// Reads the environment of new processes. Those without the mark are remembered, so that each is read once. A
    /// table of descendants does not show which of them have ended.
    void mark_by_environment(process_table const& table, std::vector<char> const& claimed) {
        still_refused_.clear();
        auto const& rows = table.rows();
        for (std::size_t i = 0; i < rows.size() && !root_.mark.empty(); ++i) {
            if (mine_[i] != bond::none || claimed[i] != 0 || !candidate(rows[i])) continue;
            std::pair const key{rows[i].pid, rows[i].start_time};
            auto const mark = std::ranges::binary_search(refused_, key) ? detail::marked::no
                                                                        : detail::has_mark(rows[i].pid, root_.mark);
            if (mark == detail::marked::yes)
                mine_[i] = bond::environment;
            else if (mark == detail::marked::no)
                still_refused_.push_back(key);
        }
        if (!table.whole()) {
            still_refused_.insert(still_refused_.end(), refused_.begin(), refused_.end());
            std::ranges::sort(still_refused_);
            auto const repeated = std::ranges::unique(still_refused_);
            still_refused_.erase(repeated.begin(), repeated.end());
        }
        refused_.swap(still_refused_);
    }

    /// Rebuilds the list of members, and keeps the CPU time of those that left.
    void reattach_marked(process_table const& table) {
        static_cast<void>(cpu_time());  // the last look at those about to be dropped
        next_.clear();
        std::size_t kept = 0;
        for (std::size_t i = 0; i < table.rows().size(); ++i) {
            if (mine_[i] != bond::none) {
                process_info const& row = table.rows()[i];
                member const* const same_number = find(row.pid);
                member const* const known =
                    same_number != nullptr && same_number->info.start_time == row.start_time ? same_number : nullptr;
                kept += known != nullptr ? 1 : 0;
                next_.push_back({.info = row,
                                 .cpu = known != nullptr ? known->cpu : nanoseconds{},
                                 .fresh = known == nullptr,
                                 .kin = mine_[i] == bond::kin});
            }
        }
        for (member const& m : members_)
            if (!remembered(m, table)) departed_ = departed_ + m.cpu + detail::from_ticks(m.info.children_ticks);
        lost_ = kept < members_.size();
        members_.swap(next_);
    }

    /// True if the CPU time is still in an account: that of the process, or of an ancestor in the job that waited
    /// for it.
    [[nodiscard]] bool remembered(member const& m, process_table const& table) const noexcept {
        for (member const* at = &m; at != nullptr; at = find(at->info.parent)) {
            process_info const* const row = table.find(at->info.pid);
            if (row != nullptr && row->start_time == at->info.start_time) return true;
        }
        return false;
    }
};

/// Ends a job: SIGTERM, and after `grace` SIGKILL repeatedly until no process is left. Blocks. Error:
/// `errc::timed_out` if a process waits inside the kernel for 2 s more; it is still a member.
[[nodiscard]] inline result<void> terminate(tree& job, nanoseconds grace) noexcept {
    process_table table;
    nanoseconds const begin = now(), last = begin + grace + seconds(2);
    bool asked = false;
    for (useconds_t pause = 500;; pause = std::min<useconds_t>(pause * 2, 20'000)) {
        auto const seen = or_no_memory("end a job", "process", [&]() -> result<void> {
            auto const scanned = table.scan();
            if (scanned) job.refresh(table);
            return scanned;
        });
        if (!seen) return seen;
        job.reap_orphans();
        if (job.alive() == 0) return {};
        nanoseconds const time = now();
        if (time > last) {
            return error{
                .code = errc::timed_out,
                .operation = "end a job",
                .subject = "process",
                .system = EBUSY,
                .remedy = "a process waits inside the kernel and cannot be killed yet; what it holds stays taken"};
        }
        if (time >= begin + grace) {
            // Repeated in each round, for processes that were born since the last scan.
            job.signal(SIGKILL);
        } else if (!asked) {
            asked = true;
            job.signal(SIGTERM);
            job.signal(SIGCONT);  // a stopped process acts on nothing but SIGKILL
        }
        ::usleep(pause);
    }
}

}  // namespace ration::process
