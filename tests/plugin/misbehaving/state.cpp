// SPDX-License-Identifier: BSL-1.0
// Saving and loading, right and wrong.
#include <cstring>

#include "misbehaving.hpp"

namespace misbehaving {

std::int32_t save(void* self, void* buffer, std::uint64_t capacity, std::uint64_t* size) {
    auto* const mine = static_cast<instance*>(self);
    *size = sizeof(state);
    if (capacity < sizeof(state) && misbehaviour != 33) return RATION_E_CAPACITY;
    if (misbehaviour == 34) ++mine->seen.events;
    std::memcpy(buffer, &mine->seen, sizeof(state));
    return RATION_OK;
}

std::int32_t load(void* self, void const* buffer, std::uint64_t size) {
    auto* const mine = static_cast<instance*>(self);
    if (misbehaviour == 35) {
        std::memcpy(&mine->seen, buffer, size < sizeof(state) ? size : sizeof(state));
        return RATION_OK;
    }
    if (size != sizeof(state) || std::memcmp(buffer, mine->seen.magic, sizeof mine->seen.magic) != 0)
        return misbehaviour == 57 ? 17 : RATION_E_STATE;
    if (misbehaviour != 42) std::memcpy(&mine->seen, buffer, sizeof(state));
    return RATION_OK;
}

}  // namespace misbehaving
