// SPDX-License-Identifier: BSL-1.0
#include "report/device_history.hpp"

#include <algorithm>

#include "events/event_fields.hpp"

namespace ration::program {

std::size_t device_history::place_of(std::string_view name) {
    constexpr std::size_t longest_name = 80;
    auto const [found, is_new] = places_.try_emplace(shortened(name, longest_name), names_.size());
    if (!is_new) return found->second;
    if (names_.size() == most_devices) {
        places_.erase(found);
        return most_devices;
    }
    names_.push_back(found->first);
    return found->second;
}

void device_history::has(std::size_t job, std::string_view names, std::int64_t t) {
    std::vector<std::size_t> now;
    for (std::size_t at = 0; at < names.size();) {
        std::size_t const end = std::min(names.find(',', at), names.size());
        if (end > at) now.push_back(place_of(names.substr(at, end - at)));
        at = end + 1;
    }
    auto& open = open_[job];
    std::erase_if(open, [&](std::size_t i) {
        auto const stays = std::ranges::find(now, segments_[i].device);
        if (stays == now.end()) {
            segments_[i].to = t;
            return true;
        }
        now.erase(stays);
        return false;
    });
    for (auto const device : now) {
        if (device == most_devices || segments_.size() == most_segments) {
            ++left_out_;
            continue;
        }
        open.push_back(segments_.size());
        segments_.push_back({.device = device, .job = job, .from = t});
    }
}

void device_history::finish(std::int64_t t) {
    for (auto& segment : segments_)
        if (segment.to < 0) segment.to = std::max(t, segment.from);
    open_.clear();
}

}  // namespace ration::program
