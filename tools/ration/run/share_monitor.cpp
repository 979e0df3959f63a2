// SPDX-License-Identifier: BSL-1.0
#include "run/share_monitor.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "common/error_text.hpp"

namespace ration::program {

void share_monitor::probe(nanoseconds now) {
    if (shares_ == nullptr) return;
    std::optional<result<std::vector<std::int32_t>>> clients;
    for (auto const& job : jobs_.jobs()) {
        auto& state = states_[job];
        if (!job.alive() || job.devices == nullptr || state.done) continue;
        if (!state.from && now - job.launched_at.value_or(now) >= job.elastic().deadlines.start) state.from = now;
        if (!state.from || (state.next && now < *state.next)) continue;
        if (!clients) clients = shares_->clients();
        classify(job, *clients, now);
    }
}

/// A client that was started a moment ago may not be in the list yet.
void share_monitor::classify(live_job const& job, result<std::vector<std::int32_t>> const& clients, nanoseconds now) {
    if (!clients) return emit(job, resize_step::unverified, to_text(clients.failure()), now);
    auto const share = devices_.share_of(job.devices->state().devices.held().size());
    int const percent = share ? share->percent() : 0;
    if (std::ranges::any_of(*clients, [&](std::int32_t pid) { return node_.jobs().contains(job.id, pid); }))
        return emit(job, resize_step::verified, fmt::format("{} % of its GPU as a client of MPS", percent), now);
    constexpr nanoseconds interval = milliseconds(500);
    auto& state = states_[job];
    state.next = now + interval;
    if (now - state.from.value_or(now) < cuda::mps::patience) return;
    emit(
        job, resize_step::unverified,
        fmt::format(
            "none of its processes is a client of MPS, so nothing holds it to {} % of its GPU; does it change CUDA_MPS_PIPE_DIRECTORY, "
            "or run in a container or as another user?",
            percent),
        now);
}

void share_monitor::emit(live_job const& job, resize_step what, std::string why, nanoseconds now) {
    states_[job].done = true;
    auto const& devices = job.devices->state().devices.held();
    auto const count = static_cast<std::int64_t>(devices.size());
    events_.emit(resize_changed{.job = job.config->name,
                                .incarnation = job.run.value,
                                .what = what,
                                .from = count,
                                .to = count,
                                .devices = table_.devices().names(devices),
                                .why = std::move(why)},
                 now);
}

}  // namespace ration::program
