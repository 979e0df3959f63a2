// SPDX-License-Identifier: BSL-1.0
/// The source of a snapshot_store's memory, for hosts whose columns other processes read without a
/// copy. `shared_columns` (plugin/host/shared_file.hpp) is one.
#pragma once

#include <cstddef>

namespace ration {

/// Allocates memory on 64-byte boundaries. It has to outlive its stores. A store without one uses
/// the heap.
class column_memory {
public:
    /// Allocates `bytes`, a multiple of 64; nullptr without enough memory.
    [[nodiscard]] virtual void* allocate(std::size_t bytes) noexcept = 0;
    /// Returns memory of `allocate` with the same size.
    virtual void release(void* place, std::size_t bytes) noexcept = 0;

protected:
    ~column_memory() = default;
};

}  // namespace ration
