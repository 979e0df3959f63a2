// SPDX-License-Identifier: BSL-1.0
// Saving and loading, right and wrong.
#include <cstring>

#include "misbehaving.hpp"

namespace misbehaving {

std::int32_t save(void* self, void* buffer, std::uint64_t capacity, std::uint64_t* size) {
    auto* const mine = static_cast<instance*>(self);
    *size = sizeof(state);
    if (capacity < sizeof(state) && !is(misbehaviour::overruns_save_buffer)) return RATION_E_CAPACITY;
    if (is(misbehaviour::changes_state_in_save)) ++mine->seen.events;
    std::memcpy(buffer, &mine->seen, sizeof(state));
    return RATION_OK;
}

std::int32_t load(void* self, void const* buffer, std::uint64_t size) {
    auto* const mine = static_cast<instance*>(self);
    if (is(misbehaviour::loads_damaged_state)) {
        std::memcpy(&mine->seen, buffer, size < sizeof(state) ? size : sizeof(state));
        return RATION_OK;
    }
    if (size != sizeof(state) || std::memcmp(buffer, mine->seen.magic, sizeof mine->seen.magic) != 0)
        return is(misbehaviour::returns_unknown_code_in_load) ? unknown_code : RATION_E_STATE;
    if (!is(misbehaviour::ignores_loaded_state)) std::memcpy(&mine->seen, buffer, sizeof(state));
    return RATION_OK;
}

}  // namespace misbehaving
