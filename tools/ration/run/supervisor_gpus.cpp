// SPDX-License-Identifier: BSL-1.0
// What the supervisor does about GPUs as such: how far jobs are held to theirs and to their shares, and which of them
// show a fault.
#include <algorithm>
#include <fmt/core.h>
#include <memory>

#include <ration/cuda/inventory.hpp>
#include <ration/cuda/xid.hpp>

#include "common/error_text.hpp"
#include "run/supervisor.hpp"

namespace ration::program {

namespace {

/// Xids count from the first look on, where the driver reports any.
[[nodiscard]] gpu_prober::probe_function inspect_machine() {
    return [xids = std::make_shared<std::optional<result<cuda::xid_watch>>>()](gpu_prober::gpu_sample& seen) {
        if (!*xids) xids->emplace(cuda::xid_watch::open());
        if (**xids) seen.received = (**xids)->take();
        seen.found = cuda::find_gpus();
    };
}

}  // namespace

void supervisor::watch_over_gpus(nanoseconds now) {
    if (parts_.devices.of_cpu()) return;
    std::string const whole = parts_.devices.whole();
    gpus_.emplace(whole.empty() ? parts_.devices.names() : std::span(&whole, 1), parts_.devices.found(), now);
    gpus_->start(inspect_machine());
    gpus_->ask(idle_devices(), now);
}

/// A share is called like no GPU: where MPS serves there is always somebody.
std::vector<std::string> supervisor::idle_devices() const {
    auto const& table = elastic_.table();
    return names_of(table.of(job_id{}));
}

void supervisor::probe_gpus(nanoseconds now) {
    if (!gpus_) return;
    auto& table = elastic_.table();
    for (auto const& change : gpus_->probe(idle_devices(), now)) {
        for (auto const device : table.parts_of(change.device)) table.cordon(device, change.cordoned);
        emit(device_changed{.device = change.device,
                            .what = change.cordoned ? device_change::cordoned : device_change::back,
                            .why = change.why},
             now);
        news_ = true;
    }
    auto const trouble = gpus_->trouble(now);
    table.freeze(trouble ? "the driver of the GPUs does not answer" : "");
    if (trouble) warn_once("GPUs", *trouble, now);
}

/// Whether a look has been judged that began when this was first asked for the job, or later. The other jobs go on
/// meanwhile.
bool supervisor::has_looked(live_job& job, nanoseconds now) {
    if (!gpus_) return true;
    if (!job.probe) job.probe = gpus_->ask(idle_devices(), now);
    if (gpus_->judged() < *job.probe) return false;
    job.probe.reset();
    return true;
}

/// The failure of a job may be that of a GPU, which only a look from then on can tell.
bool supervisor::waits_for_probe(live_job& job, process::exit_report const& how, nanoseconds now) {
    return job.devices != nullptr && !how.success() && job.devices->outlives_a_device() && !has_looked(job, now);
}

/// Whether it is known that nothing of a job is on its devices any more. On CPU devices it is when its processes are
/// gone, and so on shares of a GPU, where others compute all the time.
bool supervisor::has_left_devices(live_job& job, nanoseconds now) {
    auto const& devices = job.devices->devices();
    if (job.placed || !gpus_ || parts_.devices.of_shares() || devices.empty()) return !job.placed;
    return has_looked(job, now) && !gpus_->in_use(names_of(devices));
}

/// The level at which this machine holds jobs to their devices; `advice`: in words why it is not the better one.
control supervisor::control_of_devices(std::vector<std::string>& advice) {
    control out{"gpu", parts_.devices.description(), ""};
    if (parts_.devices.of_cpu()) return out;
    auto const& gpus = parts_.devices.found().gpus;
    auto const filter = parts_.node.find_filter(gpus);
    filtered_ = static_cast<bool>(filter);
    std::string const level = filter ? fmt::format("enforced by cgroup {}", cgroup::name_of(*filter)) : "advisory";
    out.backend +=
        parts_.shares != nullptr ? fmt::format(" (advisory; which GPU: {})", level) : fmt::format(" ({})", level);
    if (!filter)
        advice.push_back("a job that changes its mask reaches the GPUs of others: " + to_text(filter.failure()));
    if (parts_.shares != nullptr) add_advice_of_shares(gpus, advice);
    return out;
}

void supervisor::add_advice_of_shares(std::span<cuda::found_gpu const> gpus, std::vector<std::string>& advice) const {
    advice.push_back(
        "a job that changes CUDA_MPS_ACTIVE_THREAD_PERCENTAGE has another share; whether it is a client of MPS is looked at after its first step");
    for (auto const& gpu : gpus)
        if (gpu.what.id.name().view() == parts_.devices.whole())
            for (auto const& way : cuda::ways_past_mps({&gpu, 1}, {})) advice.push_back(to_text(way));
}

std::optional<own_gpus> supervisor::filter_of(live_job const& job, std::span<std::uint32_t const> devices) const {
    if (job.devices == nullptr || !gpus_) return std::nullopt;
    return own_gpus{.names = parts_.shares != nullptr ? std::vector{parts_.devices.whole()} : names_of(devices),
                    .of = gpus_->seen().gpus};
}

/// On each of its GPUs as much as it asks each of them to have.
std::optional<gpu_memory_limit> supervisor::gpu_memory_of(live_job const& job,
                                                          std::span<std::uint32_t const> devices) const {
    auto const pci = parts_.devices.pci();
    if (job.devices == nullptr || job.config->elastic->gpu_memory.count == 0) return std::nullopt;
    gpu_memory_limit out{.gpus = {}, .most = job.config->elastic->gpu_memory};
    for (auto const device : devices) {
        auto const name = parts_.shares != nullptr ? parts_.devices.whole() : elastic_.table().name(device);
        auto const id = cuda::device_id::parse(name);
        bool const known = std::ranges::any_of(out.gpus, [&](auto const& gpu) { return id && gpu.id == *id; });
        if (id && !known && device < pci.size()) out.gpus.push_back({*id, pci[device]});
    }
    return out;
}

/// Where the kernel was to keep its mask or its memory, and does not.
void supervisor::emit_limits(live_job const& job, nanoseconds now) {
    if (auto const why = parts_.node.why_unfiltered(job.id); why && filtered_)
        warn_once(job.config->name, fmt::format("its mask is advice: {}", to_text(*why)), now);
    if (auto const why = parts_.node.why_gpu_memory_unlimited(job.id))
        warn_once(job.config->name, fmt::format("its gpu_memory is no limit: {}", to_text(*why)), now);
}

int supervisor::percent_of(live_job const& job) const {
    auto const share = job.devices != nullptr ? parts_.devices.share_of(job.devices->devices().size()) : std::nullopt;
    return share ? share->percent() : 0;
}

std::vector<std::string> supervisor::share_environment(live_job const& job) const {
    auto const share = parts_.shares != nullptr ? parts_.devices.share_of(job.devices->devices().size()) : std::nullopt;
    if (!share) return {};
    auto const entries = share->environment(parts_.shares->place());
    return {entries.begin(), entries.end()};
}

void supervisor::warn_of_ways_past(live_job const& job, std::span<std::string const> environment, nanoseconds now) {
    if (parts_.shares == nullptr || job.devices == nullptr) return;
    for (auto const& way : cuda::ways_past_mps({}, environment)) warn_once(job.config->name, to_text(way), now);
}

/// Jobs with shares that compute by now, or should: one question answers for all of them.
void supervisor::probe_clients(nanoseconds now) {
    if (parts_.shares == nullptr) return;
    std::optional<result<std::vector<std::int32_t>>> clients;
    for (auto& job : board_.jobs()) {
        if (!job.alive() || job.devices == nullptr || job.share.done) continue;
        if (!job.share.from && now - *job.launched_at >= job.config->elastic->deadlines.start) job.share.from = now;
        if (!job.share.from || (job.share.next && now < *job.share.next)) continue;
        if (!clients) clients = parts_.shares->clients();
        classify_client(job, *clients, now);
    }
}

/// A client that was started a moment ago may not be in the list yet.
void supervisor::classify_client(live_job& job, result<std::vector<std::int32_t>> const& clients, nanoseconds now) {
    if (!clients) return emit_share(job, resize_step::unverified, to_text(clients.failure()), now);
    auto const is_its_own = [&](std::int32_t pid) { return parts_.node.contains(job.id, pid); };
    if (std::ranges::any_of(*clients, is_its_own))
        return emit_share(job, resize_step::verified,
                          fmt::format("{} % of its GPU as a client of MPS", percent_of(job)), now);
    constexpr nanoseconds interval = milliseconds(500);
    job.share.next = now + interval;
    if (now - *job.share.from < cuda::mps::patience) return;
    emit_share(
        job, resize_step::unverified,
        fmt::format(
            "none of its processes is a client of MPS, so nothing holds it to {} % of its GPU; does it change CUDA_MPS_PIPE_DIRECTORY, "
            "or run in a container or as another user?",
            percent_of(job)),
        now);
}

void supervisor::emit_share(live_job& job, resize_step what, std::string why, nanoseconds now) {
    job.share.done = true;
    auto const& devices = job.devices->devices();
    auto const count = static_cast<std::int64_t>(devices.size());
    emit(resize_changed{.job = job.config->name,
                        .incarnation = job.run.value,
                        .what = what,
                        .from = count,
                        .to = count,
                        .devices = elastic_.table().names(devices),
                        .why = std::move(why)},
         now);
}

}  // namespace ration::program
