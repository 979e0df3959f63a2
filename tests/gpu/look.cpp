// SPDX-License-Identifier: BSL-1.0
// What tests/gpu/run.sh asks ration's headers. One question a start:
//   look gpus               one line for each device that can be handed out: its name and the SMs that the driver
//   shows; 77 and a sentence where there is none look masks              for each of them, and for all whole GPUs
//   backwards: the mask that is made, and whether a process under it sees exactly that look client PID         whether
//   the process is a client of the MPS daemon of CUDA_MPS_PIPE_DIRECTORY, within 20 s look percent PER_MILLE  the share
//   as MPS takes it
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cuda/device_mask.hpp>
#include <ration/cuda/driver.hpp>
#include <ration/cuda/inventory.hpp>
#include <ration/cuda/mps.hpp>

using namespace ration;
using namespace ration::cuda;

namespace {

constexpr int skipped = 77;

int report(error const& why) {
    std::printf("%s %s: %.*s; %s\n", why.operation, why.subject.c_str(), static_cast<int>(name_of(why.code).size()),
                name_of(why.code).data(), why.remedy);
    return 1;
}

[[nodiscard]] std::vector<device_id> usable_here() {
    char const* const mask = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible_devices(find_gpus().sound(), mask != nullptr ? std::optional<std::string_view>(mask) : std::nullopt);
}

[[nodiscard]] result<driver_view> seen_under(device_mask const& mask) {
    auto const environment = mask.environment();  // what the job gets, and nothing else
    return visible_to_driver(environment);        // asked in a child process: the driver reads a mask only once
}

int gpus() {
    auto const usable = usable_here();
    auto const why = find_gpus().why_no_nvml;
    if (usable.empty()) {
        std::printf("skipped: no GPU can be handed out on this machine%s%s\n", why ? ": " : "", why ? why->remedy : "");
        return skipped;
    }
    for (auto const& id : usable) {
        auto const view = seen_under(*device_mask::of(std::vector{id}, usable));
        if (!view) return report(view.failure());
        std::printf("%s %d\n", id.name().c_str(), view->devices.empty() ? 0 : view->devices[0].multiprocessors);
    }
    return 0;
}

[[nodiscard]] bool shown_as_meant(std::vector<device_id> const& chosen, std::vector<device_id> const& usable) {
    auto const mask = device_mask::of(chosen, usable);
    auto const view = mask ? seen_under(*mask) : result<driver_view>(mask.failure());
    if (!view) return report(view.failure()) == 0;
    bool const same = std::ranges::equal(view->devices, chosen, {}, &driver_device::id);
    std::printf("%-6s CUDA_VISIBLE_DEVICES=%s: a process sees", same ? "ok" : "WRONG", mask->value().c_str());
    for (auto const& device : view->devices) std::printf(" %s", device.id.name().c_str());
    std::printf("%s\n", view->devices.empty() ? " none" : "");
    return same;
}

int masks() {
    auto const usable = usable_here();
    std::vector<device_id> backwards;
    std::ranges::copy_if(usable, std::back_inserter(backwards),
                         [](device_id const& id) { return id.kind() == device_kind::gpu; });
    std::ranges::reverse(backwards);
    bool good = shown_as_meant({}, usable);
    for (auto const& id : usable) good = shown_as_meant({id}, usable) && good;
    if (backwards.size() > 1) good = shown_as_meant(backwards, usable) && good;
    return good ? 0 : 1;
}

int client(std::int32_t pid) {
    auto const daemon = mps::connect(mps_place::here(), seconds(30));
    if (!daemon) return report(daemon.failure());
    auto const verified = daemon->verify(std::vector{pid}, seconds(20));
    return verified ? 0 : report(verified.failure());
}

int percent(std::int64_t per_mille) {
    auto const share = mps_share::of(per_mille);
    if (!share) return report(share.failure());
    std::printf("%d\n", share->percent());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::string_view const what = argc > 1 ? argv[1] : "";
    if (what == "gpus") return gpus();
    if (what == "masks") return masks();
    if (what == "client" && argc > 2) return client(std::atoi(argv[2]));
    if (what == "percent" && argc > 2) return percent(std::atoll(argv[2]));
    std::fputs("look gpus | look masks | look client PID | look percent PER_MILLE\n", stderr);
    return 2;
}
