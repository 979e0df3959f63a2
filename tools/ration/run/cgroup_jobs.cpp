// SPDX-License-Identifier: BSL-1.0
#include "run/cgroup_jobs.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>
#include <unistd.h>
#include <utility>

#include <ration/cgroup/kernel_io.hpp>

#include "common/error_text.hpp"
#include "run/memory_shortage.hpp"

namespace ration::program {
namespace {

/// A process that has not begun to run its program.
[[nodiscard]] result<void> bind(pid_t pid, process::cpu_set const& cpus) {
    if (cpus.bind_thread(pid)) return {};
    return error{.code = errc::empty_set,
                 .operation = "bind a job to the CPUs",
                 .subject = cpus.list().view(),
                 .system = errno,
                 .remedy = "name with 'cpus' no more CPUs than this program may use"};
}

[[nodiscard]] cgroup::cpu_set as_group_set(process::cpu_set const& cpus) {
    cgroup::cpu_set out;
    cpus.for_each([&out](unsigned cpu) { out.insert(cpu); });
    return out;
}

/// Where other programs leave less CPU than the limits need, the kernel divides it by the weights. In the ratio of the
/// limits they keep the shares of the jobs, as exactly as a hundredth of a core. A core has the usual weight, which is
/// that of this process under v2.
[[nodiscard]] cgroup::weight weight_for(std::int64_t cpu, millicores capacity) {
    return *cgroup::weight::of(std::clamp<std::int64_t>((std::min(cpu, capacity.count) + 5) / 10, 1, 10'000));
}

/// A change of a limit on CPU, together with the weight.
class weighted_operation final : public job_operation {
    std::unique_ptr<job_operation> limit_;
    cgroup::backend& groups_;
    job_id job_;
    std::optional<cgroup::weight>& present_;  // of the group; none: not known
    std::optional<cgroup::weight> before_;
    cgroup::weight next_;

public:
    weighted_operation(std::unique_ptr<job_operation> limit, cgroup::backend& groups, job_id job,
                       std::optional<cgroup::weight>& present, cgroup::weight next) noexcept
        : limit_(std::move(limit)), groups_(groups), job_(job), present_(present), before_(present), next_(next) {}

    [[nodiscard]] result<void> apply() noexcept override {
        auto const done = limit_->apply();
        if (done) put(next_);
        return done;
    }
    [[nodiscard]] result<void> verify() noexcept override { return limit_->verify(); }
    [[nodiscard]] result<void> undo() noexcept override {
        if (before_) put(*before_);
        return limit_->undo();
    }
    [[nodiscard]] operation_text describe() const noexcept override { return limit_->describe(); }

private:
    /// A group without a weight keeps its limit, which is what the policy has decided.
    void put(cgroup::weight value) noexcept {
        if (value != present_ && groups_.set(job_, value)) present_ = value;
    }
};

[[nodiscard]] std::vector<std::string> sentences_of(cgroup::drift const& found) {
    std::vector<std::string> out;
    if (found.had_left && !found.restored)
        out.push_back(
            fmt::format("its first process has left its cgroup and cannot be put back: {}; its limits are not kept",
                        to_text(found.restored.failure())));
    if (found.had_left && found.restored)
        out.emplace_back("its first process had left its cgroup, which keeps its limits; it was put back");
    if (!found.changed.empty() && found.restored)
        out.push_back(fmt::format("another program, or the job, had changed {}; the last limits are written again",
                                  fmt::join(found.changed, ", ")));
    return out;
}

}  // namespace

result<std::unique_ptr<job_backend>> cgroup_jobs::open(run_cpus const& cpus) {
    auto io = std::make_unique<cgroup::kernel_io>();
    // A group has all CPUs of the one above it, also those that the affinity of this process leaves out
    cgroup::cpu_cap cap;
    if (cpus.all().size() < static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN))) cap = as_group_set(cpus.all());
    auto groups = cgroup::backend::open(*io, {.name = group_name, .cpus = cap});
    if (!groups) return groups.failure();
    return std::unique_ptr<job_backend>(
        std::make_unique<cgroup_jobs>(std::move(io), std::move(groups).value(), cpus.amount()));
}

cgroup_jobs::cgroup_jobs(std::unique_ptr<cgroup::io> io, cgroup::backend groups, millicores most) noexcept
    : io_(std::move(io)), groups_(std::move(groups)), most_(most) {}

std::string cgroup_jobs::name() const {
    return fmt::format("cgroup {}", cgroup::name_of(groups_.hierarchies().owner(cgroup::controller::cpu).kind));
}

/// One more for its group in each hierarchy.
std::size_t cgroup_jobs::files_per_job() const noexcept {
    return job_backend::files_per_job() + groups_.hierarchies().branches().size();
}

result<job_backend::placer> cgroup_jobs::prepare(job_start const& what, process::launch_spec& spec) {
    if (auto added = groups_.add(what.job, what.name); !added) return added.failure();
    auto const limited =
        what.memory ? put_in_force(groups_, {what.job, 0, resource_id::memory, what.memory->count}) : result<void>();
    if (!limited) {
        static_cast<void>(groups_.remove(what.job));
        return limited.failure();
    }
    bool const by_cpuset = !what.cpus.empty() && groups_.set(what.job, as_group_set(what.cpus));
    spec.clone_directory = groups_.clone_directory(what.job).value_or(-1);
    return placer([this, &what, by_cpuset](pid_t pid) -> result<void> {
        auto const placed = groups_.place(what.job, pid);  // may bind it again, to all CPUs of its group
        return !placed || by_cpuset || what.cpus.empty() ? placed : bind(pid, what.cpus);
    });
}

result<void> cgroup_jobs::reattach(job_start const& what, process::tree_root const&) {
    return groups_.add(what.job, what.name);
}

result<void> cgroup_jobs::gather(job_id job, pid_t pid) { return groups_.place(job, pid); }

result<void> cgroup_jobs::remove(job_id job) noexcept {
    auto const removed = groups_.remove(job);
    if (removed) {
        outside_.erase(job);
        weights_.erase(job);
    }
    return removed;
}

result<void> cgroup_jobs::plan(setting const& wanted, job_plan& out) {
    if (auto const left = outside_.find(wanted.job); left != outside_.end()) return left->second;
    auto const before = out.size();
    auto const planned = plan_by(groups_, wanted, out);
    if (!planned || wanted.resource != resource_id::cpu || out.size() == before) return planned;
    auto& last = *std::prev(out.end());
    last = std::make_unique<weighted_operation>(std::move(last), groups_, wanted.job, weights_[wanted.job],
                                                weight_for(wanted.amount, capacity()));
    return planned;
}

result<void> cgroup_jobs::confine(job_id job, process::cpu_set const& cpus) noexcept {
    auto const set = groups_.set(job, as_group_set(cpus));
    // Without a cpuset the job keeps the affinity of its launch
    return !set && set.failure().code == errc::not_supported ? result<void>() : set;
}

job_groups cgroup_jobs::groups_of(job_id job) {
    return {.core = groups_.place_of(job, cgroup::controller::core).value_or(nullptr),
            .dmem = groups_.place_of(job, cgroup::controller::dmem).value_or(nullptr)};
}

std::vector<std::string> cgroup_jobs::reconcile(job_id job, process::child const& first) {
    if (!process::same_process(first.pid(), first.start_time())) return {};
    auto const found = groups_.reconcile(job, first.pid());
    if (!found) return {};
    if (found->had_left && !found->restored)
        outside_.insert_or_assign(job, found->restored.failure());
    else
        outside_.erase(job);
    return sentences_of(*found);
}

bool cgroup_jobs::contains(job_id job, pid_t pid) noexcept {
    auto const members = groups_.members(job);
    return members && std::ranges::find(*members, pid) != members->end();
}

std::size_t cgroup_jobs::alive(job_id job) noexcept {
    auto const members = groups_.members(job);
    return members ? members->size() : 0;
}

std::string cgroup_jobs::memory_shortage_of(job_id job) {
    auto const* const group = groups_.place_of(job, cgroup::controller::memory).value_or(nullptr);
    return group != nullptr ? sentence_of(cgroup::find_shortage(*group).value_or({})) : std::string();
}

}  // namespace ration::program
