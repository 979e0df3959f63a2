// SPDX-License-Identifier: BSL-1.0
/// Where a snapshot_store gets the memory of its columns, for a host whose columns somebody else is to see without a
/// copy.
#pragma once

#include <cstddef>

namespace ration {

/// Gives memory on 64-byte boundaries. It must outlive the stores that it serves. Without one, a store uses the heap.
class column_memory {
public:
    /// nullptr when there is none. `bytes` is a multiple of 64.
    [[nodiscard]] virtual void* allocate(std::size_t bytes) noexcept = 0;
    virtual void release(void* place, std::size_t bytes) noexcept = 0;

protected:
    ~column_memory() = default;
};

}  // namespace ration
