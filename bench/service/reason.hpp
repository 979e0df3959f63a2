// SPDX-License-Identifier: BSL-1.0
/// The cost of the reason why a job of the service waits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

/// Median time of the processor for one reason in us, over jobs from all parts of the queue. In it wait `waiting` jobs
/// of `tenants` tenants with ten priorities. As many jobs as tenants run.
[[nodiscard]] double reason_microseconds(std::uint32_t tenants, std::size_t waiting);

}  // namespace bench
