// SPDX-License-Identifier: BSL-1.0
/// All processes of a job where no cgroup holds them together: found by descent, by session, and by a mark in their
/// environment. Sources: proc(5), credentials(7), prctl(2) PR_SET_CHILD_SUBREAPER.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <iterator>
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
#include <ration/process/proc.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::process {

/// From now on, orphans among our descendants become our children, not init's: they can be found by descent, and waited
/// for. Belongs to the whole program; it lasts until exit.
[[nodiscard]] inline result<void> become_subreaper() noexcept {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0)
        return system_error("reattach orphans", "controller", errno, "Linux 3.4 or later is needed");
    return {};
}

namespace detail {

enum class marked : std::uint8_t { yes, no, unknown };

/// Is this KEY=VALUE in the environment with which the process was started? `unknown`: nothing could be read now, as in
/// mid-exec.
[[nodiscard]] inline marked has_mark(pid_t pid, std::string_view mark) noexcept {
    std::array<char, 40> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/environ", static_cast<int>(pid));
    descriptor const file(::open(path.data(), O_RDONLY | O_CLOEXEC));
    if (!file) return errno == EACCES || errno == EPERM ? marked::no : marked::unknown;
    std::array<char, 4096> buffer;
    std::size_t at = 0;  // in the present entry
    bool same = true, any = false;
    for (ssize_t n = 0; (n = ::read(file.get(), buffer.data(), buffer.size())) > 0;) {
        any = true;
        for (char const c : std::string_view(buffer.data(), static_cast<std::size_t>(n))) {
            if (c != '\0') {
                same = same && at < mark.size() && mark[at] == c;
                ++at;
                continue;
            }
            if (same && at == mark.size()) return marked::yes;
            at = 0;
            same = true;
        }
    }
    return any ? marked::no : marked::unknown;
}

/// To this process and no later one of its number.
inline void signal_exactly(process_info const& process, int number) noexcept {
    descriptor const pidfd = open_pidfd(process.pid);
    if (pidfd && same_process(process.pid, process.start_time)) static_cast<void>(send_signal(pidfd.get(), number));
}

}  // namespace detail

/// Where a job's processes begin.
struct tree_root {
    pid_t pid = 0;
    std::uint64_t start_time = 0;  ///< 0: whatever has the number now
    /// KEY=VALUE that only this launch has in its environment (its token). Finds processes that left the session and
    /// lost their parent; without it those are lost. Empty: none.
    std::string mark = {};
};

/// The processes of one job. Refreshed from a table that all jobs share; O(processes on the machine) without allocation
/// once warm. A refresh that finds no memory throws std::bad_alloc and leaves the members as they were.
class tree {
public:
    struct member {
        process_info info;
        nanoseconds cpu{};   ///< of its own threads, as last read
        bool fresh = false;  ///< first seen in the last refresh
        bool kin = false;    ///< by descent or session; else by its environment alone, which any process can be given
    };

private:
    enum class bond : std::uint8_t { none, environment, kin };

    tree_root root_;
    pid_t session_ = 0;  ///< that we made for the job, or 0
    bool session_held_ = true;
    std::vector<member> members_, next_;
    std::vector<bond> mine_;  ///< for each row of the table
    /// Read, and without the mark; ordered by pid
    std::vector<std::pair<pid_t, std::uint64_t>> refused_, still_refused_;
    nanoseconds departed_{}, cpu_{};

public:
    /// Follows a process that is there, with all that belongs to it now.
    [[nodiscard]] static result<tree> of(tree_root root) noexcept {
        return or_no_memory("follow a job", "process", [&] { return follow(std::move(root)); });
    }

    [[nodiscard]] tree_root const& root() const noexcept { return root_; }
    /// As of the last refresh, zombies included; ordered by pid.
    [[nodiscard]] std::span<member const> members() const noexcept { return members_; }
    [[nodiscard]] std::size_t alive() const noexcept {
        return static_cast<std::size_t>(
            std::ranges::count_if(members_, [](member const& m) { return !m.info.zombie(); }));
    }

    /// Finds the processes of the job as of the table. Where several jobs share one, see `find_kin`.
    void refresh(process_table const& table) {
        std::vector<char> none(table.rows().size(), 0);
        find_kin(table, none);
        complete(table, none);
    }

    /// First half of a refresh: what belongs to the job by descent or session. Marks these rows in `claimed`, which has
    /// one entry for each row. A process of one job that copied the environment of another is therefore no process of
    /// the other.
    void find_kin(process_table const& table, std::vector<char>& claimed) {
        mine_.assign(table.rows().size(), bond::none);
        mark_known(table, bond::kin);
        mark_session(table);
        mark_descendants(table, bond::kin);
        for (std::size_t i = 0; i < mine_.size(); ++i) claimed[i] = mine_[i] == bond::kin ? 1 : claimed[i];
    }

    /// Second half, after the first half of every job: adds what no job has claimed and the mark says is this job's.
    void complete(process_table const& table, std::vector<char> const& claimed) {
        mark_known(table, bond::environment);
        mark_by_environment(table, claimed);
        mark_descendants(table, bond::environment);
        for (std::size_t i = 0; i < mine_.size(); ++i)
            mine_[i] = mine_[i] == bond::environment && claimed[i] != 0 ? bond::none : mine_[i];
        reattach_marked(table);
    }

    /// CPU time of all processes the job ever had. Members' clocks are exact; children that ended between two refreshes
    /// are known to 10 ms from their parents' accounts. Never runs backwards.
    [[nodiscard]] nanoseconds cpu_time() noexcept {
        nanoseconds sum = departed_;
        for (member& m : members_) {
            m.cpu = cpu_clock(m.info.pid).value_or(m.cpu);
            sum = sum + m.cpu + detail::from_ticks(m.info.children_ticks);
        }
        cpu_ = std::max(cpu_, sum);
        return cpu_;
    }

    /// The session, and process group, that was made for the job; 0 when it was started by somebody else in theirs.
    [[nodiscard]] pid_t session() const noexcept { return session_; }

    /// To every process: at once to all that share the job's group, one by one to the rest.
    void signal(int number) const noexcept {
        bool const grouped = session_ != 0 && std::ranges::any_of(members_, [&](member const& m) {
                                 auto const row = m.info.group == session_ ? read_process(m.info.pid) : std::nullopt;
                                 // So the number is still the job's
                                 return row && row->start_time == m.info.start_time && row->group == session_;
                             });
        if (grouped) ::kill(-session_, number);
        for (member const& m : members_)
            if (!m.info.zombie() && !(grouped && m.info.group == session_)) detail::signal_exactly(m.info, number);
    }

    /// Takes away the zombies that came to us as orphans. The first process is its launcher's to wait for.
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
        out.members_.push_back({.info = *row, .kin = true});
        process_table table;
        if (auto const scanned = table.scan(); !scanned) return scanned.failure();
        out.refresh(table);
        return out;
    }

    [[nodiscard]] member const* find(pid_t pid) const noexcept {
        auto const at = std::ranges::lower_bound(members_, pid, {}, [](member const& m) { return m.info.pid; });
        return at != members_.end() && at->info.pid == pid ? &*at : nullptr;
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

    /// We ourselves are never part of a job, whatever our ancestry; nor is anything older than the job.
    [[nodiscard]] bool candidate(process_info const& row) const noexcept {
        return row.start_time >= root_.start_time && row.pid != ::getpid() && row.pid != 1;
    }

    /// A session keeps its number while it has a member. So it is the job's from one look to the next, until a look
    /// finds it empty; a leader that is not the root says that the number was given away in between.
    void mark_session(process_table const& table) noexcept {
        process_info const* const leader = table.find(session_);
        bool const reused = leader != nullptr && (root_.pid != session_ || leader->start_time != root_.start_time);
        bool const held = session_ != 0 && session_held_ && !reused;
        session_held_ = false;
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

    /// Reads the environment of processes not seen before. Those without the mark are remembered, so that each is read
    /// once.
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
        refused_.swap(still_refused_);
    }

    void reattach_marked(process_table const& table) {
        static_cast<void>(cpu_time());  // the last look at those about to be dropped
        next_.clear();
        for (std::size_t i = 0; i < table.rows().size(); ++i) {
            if (mine_[i] != bond::none) {
                process_info const& row = table.rows()[i];
                member const* const known = find(row.pid);
                next_.push_back({.info = row,
                                 .cpu = known != nullptr ? known->cpu : nanoseconds{},
                                 .fresh = known == nullptr,
                                 .kin = mine_[i] == bond::kin});
            }
        }
        for (member const& m : members_)
            if (!remembered(m, table)) departed_ = departed_ + m.cpu + detail::from_ticks(m.info.children_ticks);
        members_.swap(next_);
    }

    /// Is this member's CPU time in somebody's account: its own, or that of an ancestor in the job, who waited for it?
    [[nodiscard]] bool remembered(member const& m, process_table const& table) const noexcept {
        for (member const* at = &m; at != nullptr; at = find(at->info.parent)) {
            process_info const* const row = table.find(at->info.pid);
            if (row != nullptr && row->start_time == at->info.start_time) return true;
        }
        return false;
    }
};

/// Every process but this one that was started with this KEY=VALUE in its environment. Errors: those of
/// `process_table::scan`.
[[nodiscard]] inline result<std::vector<process_info>> find_marked(std::string_view mark) noexcept {
    return or_no_memory("list marked processes", "/proc", [mark]() -> result<std::vector<process_info>> {
        process_table table;
        if (auto const scanned = table.scan(); !scanned) return scanned.failure();
        std::vector<process_info> found;
        std::ranges::copy_if(table.rows(), std::back_inserter(found), [&](process_info const& row) {
            return !row.zombie() && row.pid != ::getpid() && detail::has_mark(row.pid, mark) == detail::marked::yes;
        });
        return found;
    });
}

/// SIGKILL to every process that was started with this KEY=VALUE, until none is left: of a launch whose first process
/// nobody wrote down. Blocks. `errc::timed_out` as of `terminate`.
[[nodiscard]] inline result<void> kill_marked(std::string_view mark) noexcept {
    for (nanoseconds const last = now() + seconds(2);;) {
        auto const found = find_marked(mark);
        if (!found) return found.failure();
        if (found->empty()) return {};
        for (process_info const& row : *found) detail::signal_exactly(row, SIGKILL);
        if (now() > last) {
            return error{
                .code = errc::timed_out,
                .operation = "end what is left of a job",
                .subject = mark.substr(0, mark.find('=')),
                .system = EBUSY,
                .remedy = "a process waits inside the kernel and cannot be killed yet; what it holds stays taken"};
        }
        ::usleep(5'000);
    }
}

/// Ends a job: SIGTERM, then SIGKILL to whatever is left after `grace`, again and again until nothing is. Blocks.
/// `errc::timed_out`: something could not be killed within two seconds more (it waits inside the kernel); it is still a
/// member.
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
