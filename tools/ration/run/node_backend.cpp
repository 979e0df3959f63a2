// SPDX-License-Identifier: BSL-1.0
#include "run/node_backend.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

#include <ration/cgroup/kernel_io.hpp>
#include <ration/process/environment.hpp>

#include "run/memory_shortage.hpp"

namespace ration::program {
namespace {

/// Passes an operation to the backend that made it.
template <class Backend, class Variant, class Action>
[[nodiscard]] result<void> on(Variant& backend, Action action) noexcept {
    auto* const mine = std::get_if<std::unique_ptr<Backend>>(&backend);
    RATION_ASSERT(mine != nullptr, "an operation came to another backend than its own");
    return action(**mine);
}

/// Has the backend that made an operation do something with it.
template <class Variant, class Action>
[[nodiscard]] result<void> on_its_own(Variant& backend, node_backend::operation const& op, Action action) noexcept {
    if (auto const* const own = std::get_if<cgroup::operation>(&op))
        return on<cgroup::backend>(backend, [&](auto& b) { return action(b, *own); });
    return on<process::backend>(backend, [&](auto& b) { return action(b, std::get<process::operation>(op)); });
}

/// A process that has not begun to run its program.
[[nodiscard]] result<void> bind(pid_t pid, process::cpu_set const& cpus) {
    if (cpus.bind_thread(pid)) return {};
    return error{.code = errc::empty_set,
                 .operation = "bind a job to the CPUs",
                 .subject = cpus.list().view(),
                 .system = errno,
                 .remedy = "name with 'cpus' no more CPUs than this program may use"};
}

[[nodiscard]] process::tree_root root_of(process::child const& child, std::string_view token) {
    return {.pid = child.pid(), .start_time = child.start_time(), .mark = process::mark_of(token)};
}

[[nodiscard]] cgroup::cpu_set as_group_set(process::cpu_set const& cpus) {
    cgroup::cpu_set out;
    cpus.for_each([&out](unsigned cpu) { out.insert(cpu); });
    return out;
}

[[nodiscard]] std::string sentence_of(core_choice const& chosen) {
    if (chosen.shared.empty()) return {};
    return fmt::format(
        "CPUs {} are also those of another run (process {}), so that both are slower; name fewer with 'cpus' in both files",
        chosen.shared.list().view(), fmt::join(chosen.others, ", "));
}

}  // namespace

result<node_backend> node_backend::open(options const& wanted) {
    node_backend node;
    node.open_files_ = wanted.open_files;
    node.claims_ = core_claims::open(wanted.claims);
    auto const chosen = node.claims_.take(process::cpu_set::of_thread(0), wanted.cpus);
    node.cpus_ = chosen.cpus;
    node.shared_cpus_ = sentence_of(chosen);
    if (wanted.choice != backend_choice::process) {
        node.io_ = std::make_unique<cgroup::kernel_io>();
        static_cast<void>(node.io_->read_system("/proc/self/cgroup", node.memberships_));  // none: the backend says why
        cgroup::cpu_cap cap;
        if (wanted.cpus) cap = as_group_set(node.cpus_);
        auto groups = cgroup::backend::open(*node.io_, {.name = group_name, .cpus = cap});
        if (groups) {
            node.backend_ = std::make_unique<cgroup::backend>(std::move(groups).value());
            return node;
        }
        if (wanted.choice == backend_choice::cgroup) return groups.failure();
        node.why_not_cgroup_ = groups.failure();
    }
    auto processes = process::backend::open(node.cpus_);
    if (!processes) return processes.failure();
    node.backend_ = std::make_unique<process::backend>(std::move(processes).value());
    return node;
}

std::span<resource_id const> node_backend::resources() const noexcept {
    return std::visit([](auto const& b) { return b->resources(); }, backend_);
}

result<observation> node_backend::observe(job_id job) noexcept {
    return std::visit([&](auto& b) { return b->observe(job); }, backend_);
}

result<void> node_backend::plan(setting const& wanted, ration::plan<operation>& out) noexcept {
    if (wanted.amount == 0 && ends(wanted.job)) {
        out.push_back(stop_operation{wanted.job});
        return {};
    }
    if (wanted.resource == resource_id::gpu || wanted.resource == resource_id::batch) return plan_devices(wanted, out);
    if (auto const left = outside_.find(wanted.job); left != outside_.end()) return left->second;
    return std::visit(
        [&]<class B>(std::unique_ptr<B>& b) -> result<void> {
            ration::plan<typename B::operation> own;
            auto const planned = b->plan(capped(wanted), own);
            for (auto& op : own) out.emplace_back(std::move(op));
            return planned;
        },
        backend_);
}

result<void> node_backend::apply(operation const& op) noexcept {
    if (std::holds_alternative<stop_operation>(op)) return {};
    if (auto const* const size = std::get_if<resize_operation>(&op)) return put(*size, size->new_amount);
    return on_its_own(backend_, op, [](auto& b, auto const& own) { return b.apply(own); });
}

result<void> node_backend::verify(operation const& op) noexcept {
    if (std::holds_alternative<stop_operation>(op)) return {};    // the end of the process shows it
    if (std::holds_alternative<resize_operation>(op)) return {};  // the hello of its next launch does
    return on_its_own(backend_, op, [](auto& b, auto const& own) { return b.verify(own); });
}

result<void> node_backend::undo(operation const& op) noexcept {
    if (std::holds_alternative<stop_operation>(op)) return {};
    if (auto const* const size = std::get_if<resize_operation>(&op)) return put(*size, size->old_amount);
    return on_its_own(backend_, op, [](auto& b, auto const& own) { return b.undo(own); });
}

operation_text node_backend::describe(operation const& op) noexcept {
    if (auto const* const stop = std::get_if<stop_operation>(&op))
        return {.job = stop->job,
                .resource = resource_id::cpu,
                .when = timing::live,
                .subject = "processes",
                .old_value = "running",
                .new_value = "asked to stop"};
    if (auto const* const size = std::get_if<resize_operation>(&op))
        return {.job = size->job,
                .resource = size->resource,
                .when = timing::needs_restart,
                .subject = std::string_view(size->resource == resource_id::gpu ? "devices" : "samples per step"),
                .old_value = std::string_view(std::to_string(size->old_amount)),
                .new_value = std::string_view(std::to_string(size->new_amount))};
    if (auto const* const own = std::get_if<cgroup::operation>(&op))
        return std::get<std::unique_ptr<cgroup::backend>>(backend_)->describe(*own);
    return std::get<std::unique_ptr<process::backend>>(backend_)->describe(std::get<process::operation>(op));
}

result<void> node_backend::plan_devices(setting const& wanted, ration::plan<operation>& out) noexcept {
    resize* const machine = elastic_ != nullptr ? elastic_->find(wanted.job) : nullptr;
    if (machine == nullptr)
        return error{.code = errc::not_found,
                     .operation = "change the size of a job",
                     .remedy = "the jobs file gives it no bounds.gpu"};
    bool const size = wanted.resource == resource_id::gpu;
    std::int64_t const now = size ? machine->wanted() : machine->batch();
    if (now == wanted.amount) return {};
    if (char const* const why = machine->why_not(); size && *why != '\0')
        return error{.code = errc::busy, .operation = "change the size of a job", .remedy = why};
    out.push_back(resize_operation{wanted.job, wanted.resource, now, wanted.amount});
    return {};
}

result<void> node_backend::put(resize_operation const& op, std::int64_t amount) noexcept {
    resize* const machine = elastic_->find(op.job);
    op.resource == resource_id::gpu ? machine->want(amount) : machine->want_batch(amount);
    return {};
}

setting node_backend::capped(setting const& wanted) const noexcept {
    auto const cap = std::ranges::find(caps_, wanted.job, &std::pair<job_id, millicores>::first);
    setting out = wanted;
    if (wanted.resource == resource_id::cpu && cap != caps_.end()) out.amount = std::min(out.amount, cap->second.count);
    return out;
}

result<process::child> node_backend::launch(start const& what, process::launch_spec spec) {
    spec.open_files = open_files_;
    auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_);
    auto child = groups != nullptr ? launch_in_group(**groups, what, spec)
                                   : launch_alone(*std::get<std::unique_ptr<process::backend>>(backend_), what, spec);
    if (!child || !what.cpu) return child;
    if (auto const limited = cap_cpu(what.job, *what.cpu); !limited) {
        static_cast<void>(remove(what.job));
        return limited.failure();
    }
    return child;
}

std::size_t node_backend::files_per_job() const noexcept {
    auto const* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_);
    return 2 + (groups != nullptr ? (*groups)->hierarchies().branches().size() : 0);
}

result<void> node_backend::cap_cpu(job_id job, millicores cpu) {
    std::erase_if(caps_, [job](auto const& cap) { return cap.first == job; });
    caps_.emplace_back(job, cpu);
    return set_cpu(job, cpu.count);
}

result<void> node_backend::let_run(job_id job) noexcept { return set_cpu(job, unlimited); }

result<void> node_backend::set_cpu(job_id job, std::int64_t amount) noexcept {
    ration::plan<operation> operations;
    auto done = plan({job, 0, resource_id::cpu, amount}, operations);
    for (auto const& operation : operations) {
        if (done) done = apply(operation);
        if (done) done = verify(operation);
    }
    // It has ended already, which is told elsewhere
    return !done && done.failure().code == errc::gone ? result<void>() : done;
}

result<process::child> node_backend::launch_in_group(cgroup::backend& groups, start const& what,
                                                     process::launch_spec& spec) {
    if (auto added = groups.add(what.job, what.name); !added) return added.failure();
    close_filter(what);
    limit_memory_of_gpus(what);
    bool const by_cpuset = !what.cpus.empty() && groups.set(what.job, as_group_set(what.cpus));
    auto const place = [&](pid_t pid) -> result<void> {
        filter_.place(what.job, pid);
        auto const placed = groups.place(what.job, pid);  // which may bind it anew, to all CPUs of its group
        return !placed || by_cpuset || what.cpus.empty() ? placed : bind(pid, what.cpus);
    };
    spec.clone_directory = groups.clone_directory(what.job).value_or(-1);
    spec.place = place;
    auto const limited = limit_memory(groups, what);
    auto child = limited ? process::launch(spec) : result<process::child>(limited.failure());
    if (!child) {
        static_cast<void>(groups.remove(what.job));
        filter_.open(what.job);
    }
    return child;
}

result<process::child> node_backend::launch_alone(process::backend& processes, start const& what,
                                                  process::launch_spec& spec) {
    close_filter(what);
    auto const place = [&](pid_t pid) {
        filter_.place(what.job, pid);
        auto const row = process::read_process(pid);
        auto const added = processes.add(
            what.job, {.pid = pid, .start_time = row ? row->start_time : 0, .mark = process::mark_of(what.token)});
        return !added || what.cpus.empty() ? added : processes.confine(what.job, what.cpus);
    };
    spec.place = place;
    oom_kills_before_[what.job] = oom_kills_of_machine();
    auto child = process::launch(spec);
    if (!child) {
        static_cast<void>(processes.remove(what.job));
        filter_.open(what.job);
    }
    return child;
}

result<void> node_backend::limit_memory(cgroup::backend& groups, start const& what) {
    if (!what.memory) return {};
    ration::plan<cgroup::operation> operations;
    auto done = groups.plan({what.job, 0, resource_id::memory, what.memory->count}, operations);
    for (auto const& operation : operations) {
        if (done) done = groups.apply(operation);
        if (done) done = groups.verify(operation);
    }
    return done;
}

result<void> node_backend::confine(job_id job, process::cpu_set const& cpus) noexcept {
    if (auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_)) {
        auto const set = (*groups)->set(job, as_group_set(cpus));
        // Without a cpuset it was bound by affinity, which it keeps
        return !set && set.failure().code == errc::not_supported ? result<void>() : set;
    }
    return std::get<std::unique_ptr<process::backend>>(backend_)->confine(job, cpus);
}

bool node_backend::limits_memory() const noexcept {
    return std::ranges::find(resources(), resource_id::memory) != resources().end();
}

void node_backend::close_filter(start const& what) {
    if (!what.gpus) return;
    auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_);
    auto const group = groups != nullptr ? (*groups)->place_of(what.job, cgroup::controller::core)
                                         : result<cgroup::directory const*>(nullptr);
    filter_.close(what.job, what.name, group ? *group : nullptr, *what.gpus);
}

result<cgroup::version> node_backend::find_filter(std::span<cuda::found_gpu const> gpus) const {
    return find_device_filter(gpus, std::holds_alternative<std::unique_ptr<cgroup::backend>>(backend_));
}

/// On a kernel without dmem there is nothing to say: `ration doctor` does.
void node_backend::limit_memory_of_gpus(start const& what) {
    unlimited_gpu_memory_.erase(what.job);
    auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_);
    if (!what.gpu_memory || groups == nullptr) return;
    auto const group = (*groups)->place_of(what.job, cgroup::controller::dmem);
    if (!group || *group == nullptr) return;
    if (auto const limited = limit_gpu_memory(*io_, **group, *what.gpu_memory); !limited)
        unlimited_gpu_memory_.emplace(what.job, limited.failure());
}

std::optional<error> node_backend::why_gpu_memory_unlimited(job_id job) const {
    auto const at = unlimited_gpu_memory_.find(job);
    return at != unlimited_gpu_memory_.end() ? std::optional(at->second) : std::nullopt;
}

result<void> node_backend::reattach(start const& what, process::child const& running) noexcept {
    job_id const job = what.job;
    auto const root = root_of(running, what.token);
    auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_);
    auto const known = groups != nullptr ? (*groups)->add(job, what.name)
                                         : std::get<std::unique_ptr<process::backend>>(backend_)->add(job, root);
    if (!known) return known;
    close_filter(what);
    limit_memory_of_gpus(what);
    auto const family = process::tree::of(root);
    if (!family) return groups != nullptr ? result<void>(family.failure()) : result<void>();
    if (auto const placed = groups != nullptr ? (*groups)->place(job, root.pid) : result<void>(); !placed)
        return placed;
    for (auto const& member : family->members()) {
        filter_.place(job, member.info.pid);
        auto const placed = groups != nullptr ? (*groups)->place(job, member.info.pid) : result<void>();
        if (!placed && placed.failure().code != errc::gone) return placed;
    }
    return {};
}

bool node_backend::ends(job_id job) const noexcept { return std::ranges::find(finished_, job) != finished_.end(); }

result<void> node_backend::ask_to_end(job_id job) noexcept {
    return std::visit([&](auto& b) { return b->ask_to_end(job); }, backend_);
}

result<void> node_backend::kill(job_id job) noexcept {
    return std::visit([&](auto& b) { return b->kill(job); }, backend_);
}

result<void> node_backend::remove(job_id job) noexcept {
    if (auto* const processes = std::get_if<std::unique_ptr<process::backend>>(&backend_))
        if (auto const killed = (*processes)->kill(job); !killed && killed.failure().code == errc::timed_out)
            return killed;
    auto const removed = std::visit([&](auto& b) { return b->remove(job); }, backend_);
    if (removed) outside_.erase(job);
    if (removed) {
        std::erase_if(caps_, [job](auto const& cap) { return cap.first == job; });
        filter_.open(job);
    }
    return removed;
}

nanoseconds node_backend::next_wakeup() const noexcept {
    auto* const processes = std::get_if<std::unique_ptr<process::backend>>(&backend_);
    return processes != nullptr ? (*processes)->next_wakeup() : nanoseconds{std::numeric_limits<std::int64_t>::max()};
}

void node_backend::run_due(nanoseconds now) noexcept {
    if (auto* const processes = std::get_if<std::unique_ptr<process::backend>>(&backend_)) (*processes)->run_due(now);
}

millicores node_backend::capacity() const noexcept {
    return std::visit([](auto const& b) { return b->capacity(); }, backend_);
}

std::string node_backend::name() const {
    auto* const groups = std::get_if<std::unique_ptr<cgroup::backend>>(&backend_);
    if (groups == nullptr) return "process";
    return fmt::format("cgroup {}", cgroup::name_of((*groups)->hierarchies().owner(cgroup::controller::cpu).kind));
}

std::vector<std::string> node_backend::approximations() const {
    if (std::holds_alternative<std::unique_ptr<cgroup::backend>>(backend_)) return {};
    auto const sentences = process::backend::approximations();
    return {sentences.begin(), sentences.end()};
}

std::vector<control> node_backend::controls() const {
    std::vector<control> all;
    auto const sentences = approximations();
    for (auto const r : resources())
        all.push_back({std::string(standard_resources[static_cast<std::size_t>(r)].name), name(),
                       sentences.empty() ? std::string() : sentences.front()});
    return all;
}

}  // namespace ration::program
