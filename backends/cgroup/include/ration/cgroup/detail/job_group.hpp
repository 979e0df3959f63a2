// SPDX-License-Identifier: BSL-1.0
/// The groups of the jobs: of each one its first process and the limits that were last written.
#pragma once

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/group.hpp>
#include <ration/cgroup/detail/operation.hpp>
#include <ration/cgroup/detail/reconcile.hpp>
#include <ration/host/backend.hpp>
#include <ration/text.hpp>

namespace ration::cgroup::detail {

/// The group of one job.
class job_group {
    job_id id_;
    cgroup::group group_;
    int first_ = 0;  // the first process that was placed; 0: none yet
    written_limits written_;

public:
    job_group(job_id id, cgroup::group made) noexcept : id_(id), group_(std::move(made)) {}

    [[nodiscard]] job_id id() const noexcept { return id_; }
    [[nodiscard]] cgroup::group& group() noexcept { return group_; }
    [[nodiscard]] cgroup::group const& group() const noexcept { return group_; }

    /// Error: busy when the group is frozen.
    [[nodiscard]] result<void> place(int pid) noexcept {
        auto const open = check_thawed();
        auto const placed = open ? group_.place(pid) : open;
        if (placed && first_ == 0) first_ = pid;
        return placed;
    }
    /// Error: busy when the group is frozen.
    [[nodiscard]] result<int> clone_directory() const noexcept {
        auto const open = check_thawed();
        return open ? result<int>(group_.clone_directory()) : result<int>(open.failure());
    }

    /// SIGTERM to every process of the group and below it, thawed so that they handle it.
    [[nodiscard]] result<void> ask_to_end() {
        written_.forget();  // it shall not be frozen again
        directory const* const freezer = group_.place_of(controller::freezer);
        auto const thawed = freezer != nullptr ? thaw_tree(*freezer) : result<void>();
        auto const gathered = group_.gather();
        auto const asked = signal_tree(group_.places().front(), SIGTERM);
        return !asked ? asked : thawed ? gathered : thawed;
    }

    [[nodiscard]] drift reconcile(int pid, std::string& scratch) const {
        drift found;
        bring_back(group_, pid, found, scratch);
        written_.restore(group_, found, scratch);
        return found;
    }

    /// Does not read back. Errors: those of the file.
    [[nodiscard]] result<void> write(limit const& value) noexcept {
        auto const where = find_place(group_, value);
        auto const done = where ? put_limit(**where, value) : result<void>(where.failure());
        if (done) written_.keep(value);
        return done;
    }
    /// Reads back. Error: unverified when the file shows another value.
    [[nodiscard]] result<void> confirm(limit const& value, std::string& scratch) const noexcept {
        auto const where = find_place(group_, value);
        return where ? detail::confirm(**where, value, scratch) : result<void>(where.failure());
    }
    /// Error: unverified when the file shows another value than the operation's new one, or the job's first process is
    /// not in the group.
    [[nodiscard]] result<void> verify(operation const& op, std::string& scratch) const noexcept {
        auto const inside = first_ != 0 ? group_.contains(first_, scratch) : result<bool>(true);
        if (!inside && inside.failure().code == errc::no_memory) return inside.failure();
        if (inside && !*inside) {
            return make_error(errc::unverified, "verify that the first process is in", group_.name(), 0,
                              "it was moved to another group, where no limit holds it");
        }
        return confirm(op.new_value, scratch);
    }

    /// Adds the file and its values to the text.
    void describe(operation const& op, operation_text& out) const noexcept {
        auto const where = find_place(group_, op.new_value);
        if (!where) return;
        out.subject = path_text<160>((*where)->path(), limit_file(**where, op.new_value));
        out.old_value = limit_text(**where, op.old_value);
        out.new_value = limit_text(**where, op.new_value);
    }

private:
    [[nodiscard]] result<void> check_thawed() const noexcept {
        auto const frozen = group_.frozen();
        if (!frozen) return frozen.failure();
        return *frozen ? make_error(errc::busy, "start a process in the frozen group", group_.name(), 0,
                                    "give the job some cpu first")
                       : result<void>();
    }
};

/// The groups of all jobs of a run.
class job_groups {
    std::vector<job_group> all_;  // ascending by id

public:
    /// Error: not_found. O(log jobs).
    [[nodiscard]] result<job_group*> find(job_id id) noexcept {
        auto const at = std::ranges::lower_bound(all_, id, {}, &job_group::id);
        if (at == all_.end() || at->id() != id) {
            return make_error(errc::not_found, "find the group of", text<32>("job ").append(number_text(id.value)), 0,
                              "add the job first");
        }
        return &*at;
    }

    /// Makes the group of a job. Errors: already_exists (the id), and those of `group::create`. O(jobs).
    [[nodiscard]] result<void> add(job_id id, std::string_view name, group const& run) {
        auto const at = std::ranges::lower_bound(all_, id, {}, &job_group::id);
        if (at != all_.end() && at->id() == id) return make_error(errc::already_exists, "add job", name);
        auto made = group::create(run.hierarchy(), &run, name);
        if (!made) return made.failure();
        all_.emplace(at, id, std::move(made).value());
        return {};
    }

    void forget(job_id id) noexcept {
        std::erase_if(all_, [id](job_group const& each) { return each.id() == id; });
    }

    [[nodiscard]] std::vector<group const*> all() const {
        std::vector<group const*> groups;
        groups.reserve(all_.size());
        for (job_group const& each : all_) groups.push_back(&each.group());
        return groups;
    }
};

}  // namespace ration::cgroup::detail
