// SPDX-License-Identifier: BSL-1.0
#include "run/job_devices.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace ration::program {

bool job_devices::take() {
    held_ = table_.take(job_, wanted_);
    return !held_.empty();
}

device_list job_devices::choose() { return table_.change(job_, all().sound(held_), wanted_); }

device_list job_devices::replace_cordoned(device_list const& planned) {
    auto const kept = all().sound(planned);
    auto const most = std::ssize(kept) + table_.free(job_);
    return table_.change(job_, kept, std::min<std::int64_t>(std::ssize(planned), most));
}

void job_devices::release() {
    table_.release(job_);
    held_.clear();
}

}  // namespace ration::program
