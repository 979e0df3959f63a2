// SPDX-License-Identifier: BSL-1.0
#include "run/host_devices.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/core.h>

#include <ration/cuda/device_mask.hpp>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"

namespace ration::program {

host_devices host_devices::find(run_config const& config) {
    host_devices out;
    if (!config.shares_devices()) return out;
    out.each_ = config.devices.each;
    out.per_mille_ = config.devices.per_mille;
    for (std::uint32_t i = 0; out.of_cpu() && i < config.devices.count; ++i)
        out.names_.push_back(fmt::format("cpu-{}", i));
    if (out.of_cpu()) return out;
    char const* const inherited = std::getenv("CUDA_VISIBLE_DEVICES");
    out.found_ = cuda::find_gpus();
    auto const sound = out.found_.sound();
    out.gpus_ =
        cuda::visible_devices(sound, inherited != nullptr ? std::optional<std::string_view>(inherited) : std::nullopt);
    if (out.of_shares()) {
        out.cut(sound, config.devices.count);
        return out;
    }
    for (auto const& id : out.gpus_) {
        auto const is_part = [&id](cuda::gpu const& gpu) {
            return gpu.id == id || std::ranges::find(gpu.instances, id) != gpu.instances.end();
        };
        auto const whole = std::ranges::find_if(sound, is_part);
        out.add(std::string(id.name().view()), *whole, whole->id == id ? whole->memory : bytes{});
    }
    return out;
}

void host_devices::add(std::string name, cuda::gpu const& gpu, bytes memory) {
    names_.push_back(std::move(name));
    pci_.push_back(gpu.pci);
    memory_.push_back(memory);
}

/// Leaves the first whole GPU, in shares; none where there is none.
void host_devices::cut(std::span<cuda::gpu const> sound, std::uint32_t count) {
    std::erase_if(gpus_, [](cuda::device_id const& id) { return id.kind() != cuda::device_kind::gpu; });
    if (gpus_.empty()) return;
    gpus_.resize(1);
    auto const& gpu = *std::ranges::find(sound, gpus_.front(), &cuda::gpu::id);
    for (std::uint32_t i = 0; i < count; ++i) add(fmt::format("{}/{}", whole(), i), gpu, gpu.memory);
}

std::optional<cuda::mps_share> host_devices::share_of(std::size_t count) const {
    auto const share = cuda::mps_share::of(std::min<std::int64_t>(per_mille_ * static_cast<std::int64_t>(count), 1000));
    return share ? std::optional(*share) : std::nullopt;
}

std::string host_devices::description() const {
    if (of_cpu()) return fmt::format("CPU devices of {:g} cores", static_cast<double>(each_.count) / 1000);
    if (of_shares())
        return fmt::format("MPS, {} shares of {:g} % of {}", names_.size(), static_cast<double>(per_mille_) / 10,
                           whole());
    return "CUDA mask";
}

result<std::vector<std::string>> host_devices::masks(std::span<std::string const> chosen) const {
    std::vector<cuda::device_id> ids;
    if (of_shares() && !chosen.empty()) ids.push_back(gpus_.front());
    if (!of_cpu() && !of_shares())
        for (auto const& name : chosen) {
            auto const id = cuda::device_id::parse(name);
            if (!id) return id.failure();
            ids.push_back(*id);
        }
    auto const mask = cuda::device_mask::of(ids, gpus_);  // an empty one for CPU devices: the job is not to find a GPU
    if (!mask) return mask.failure();
    auto const entries = mask->environment();
    return std::vector<std::string>(entries.begin(), entries.end());
}

std::int64_t host_devices::with_memory(bytes least) const noexcept {
    return std::ranges::count_if(memory_, [least](bytes has) { return has.count >= least.count; });
}

/// Of GPUs that are too small there may be as many as one likes.
static void check_memory(std::string const& job, elastic_config const& wants, host_devices const& devices,
                         diagnostics& out) {
    auto const large = devices.with_memory(wants.gpu_memory), there = static_cast<std::int64_t>(devices.names().size());
    if (devices.of_cpu())
        out.add(wants.gpu_memory_at, "CPU devices have no memory of their own; leave gpu_memory out, or share GPUs");
    if (devices.of_cpu() || large >= wants.devices.minimum || there < wants.devices.minimum) return;
    std::int64_t largest = 0;
    for (auto const has : devices.memory()) largest = std::max(largest, has.count);
    auto const gib = [](std::int64_t count) { return static_cast<double>(count) / (std::int64_t{1} << 30U); };
    out.add(
        wants.gpu_memory_at,
        fmt::format(
            "job {} needs at least {} GPU{} of {:.4g} GiB, and {} large enough, the largest with {:.4g} GiB; make gpu_memory smaller, or run it on a machine with larger ones",
            program::quoted(job), wants.devices.minimum, wants.devices.minimum == 1 ? "" : "s",
            gib(wants.gpu_memory.count),
            large == 0   ? "none is"
            : large == 1 ? "1 is"
                         : fmt::format("{} are", large),
            gib(largest)));
}

diagnostics missing_devices(run_config const& config, host_devices const& devices, millicores cpu) {
    diagnostics out(config.file);
    auto const there = static_cast<std::int64_t>(devices.names().size());
    if (devices.of_cpu() && there * devices.each().count > cpu.count)
        out.add(
            config.devices.at,
            fmt::format(
                "{} devices of {:g} cores are more than the {:g} cores that the jobs share; write fewer or smaller ones",
                there, static_cast<double>(devices.each().count) / 1000, static_cast<double>(cpu.count) / 1000));
    if (devices.of_shares() && there == 0) {
        out.add(
            config.devices.at,
            "no whole GPU is left to share; run ration doctor for the reason, or write devices = { count = 4, cpu = 0.25 } instead");
        return out;
    }
    for (auto const& job : config.jobs) {
        if (job.elastic && job.elastic->gpu_memory.count > 0) check_memory(job.name, *job.elastic, devices, out);
        if (!job.elastic || job.elastic->devices.minimum <= there) continue;
        std::int64_t const least = job.elastic->devices.minimum;
        std::string const helps =
            there == 0
                ? "; run ration doctor for the reason, or write devices = { count = 4, cpu = 0.25 } at the top of the file"
                : "; make gpu.min smaller, or run it on a machine with more";
        out.add(job.elastic->at,
                fmt::format("job {} needs at least {} device{}, and there {} {}{}", program::quoted(job.name), least,
                            least == 1 ? "" : "s", there == 1 ? "is" : "are",
                            there == 0 ? std::string("none that it could have") : std::to_string(there), helps));
    }
    return out;
}

}  // namespace ration::program
