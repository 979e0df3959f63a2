// SPDX-License-Identifier: BSL-1.0
// An estimator: twice the steps of each job, and a mood. At one tick it does what its config text names: "crash@3".
// Written against abi.h alone.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include <ration/plugin/abi.h>

namespace {

RATION_MANIFEST manifest = {RATION_ABI_MAGIC,
                            sizeof(ration_manifest),
                            0,
                            RATION_LAYOUT,
                            RATION_F_DETERMINISTIC,
                            "org.example.guess",
                            "guess",
                            "1.0.0",
                            "the tests",
                            "",
                            "guesses",
                            "jobs/step u64\n",
                            "",
                            "",
                            "",
                            "jobs/mood u32\njobs/remaining f64\njobs/wish i64\n"};

struct instance {
    std::string action;
    long at = -1;
    std::int64_t count = 0;
    std::uint32_t step_slot = RATION_NO_SLOT;
    [[nodiscard]] bool is(char const* name) const { return count == at && action == name; }
};

std::uintptr_t volatile nowhere = 64;  // not null, which UBSan would catch before the machine does

std::int32_t create(ration_host const*, char const* config, std::uint64_t length, void** self, char* err,
                    std::uint64_t err_size) {
    std::string const text(config, length);
    if (text == "refuse") {
        std::strncpy(err, "it never wants to", err_size);
        return RATION_E_ARG;
    }
    auto* const made = new instance;
    std::size_t const sign = text.find('@');
    made->action = text.substr(0, sign);
    if (sign != text.npos) made->at = std::atol(text.c_str() + sign + 1);
    *self = made;
    return RATION_OK;
}

void destroy(void* self) { delete static_cast<instance*>(self); }

std::int32_t bind(void* self, ration_schema const* schema, std::uint64_t* scratch, char*, std::uint64_t) {
    *scratch = 0;
    auto const* at = reinterpret_cast<unsigned char const*>(schema->column);
    for (std::uint32_t i = 0; i < schema->n_columns; ++i, at += schema->column_stride) {
        ration_column column;
        std::memcpy(&column, at, sizeof column);
        if (std::strcmp(column.name, "jobs/step") == 0) static_cast<instance*>(self)->step_slot = column.slot;
    }
    return RATION_OK;
}

std::int32_t estimate(void* self, ration_tick const* t, ration_estimates const* out) {
    auto& mine = *static_cast<instance*>(self);
    ++mine.count;
    bool const is_now = mine.action == "crash in tick" && t->number + 1 == static_cast<std::uint64_t>(mine.at);
    if (mine.is("crash") || is_now) *reinterpret_cast<int volatile*>(nowhere) = 1;
    if (mine.is("hang"))
        for (long volatile turns = 0;;) turns = turns + 1;
    if (mine.is("exit")) ::_exit(0);
    if (mine.is("throw")) throw std::runtime_error("guess");
    if (mine.is("fail")) return RATION_E_INTERNAL;
    if (mine.is("strange code")) return 77;
    auto const* const steps = static_cast<std::uint64_t const*>(t->table[RATION_JOBS]->slot[mine.step_slot]);
    auto* const mood = static_cast<std::uint32_t*>(out->column[0]);
    auto* const remaining = static_cast<double*>(out->column[1]);
    auto* const wish = static_cast<std::int64_t*>(out->column[2]);
    for (std::uint64_t row = 0; row < out->n_rows; ++row) {
        mood[row] = static_cast<std::uint32_t>(mine.count);
        remaining[row] = 2 * static_cast<double>(steps[row]);
        wish[row] = 5;
    }
    if (mine.is("infinite") || mine.action.find("infinite\":1") != std::string::npos)
        remaining[out->n_rows - 1] = std::numeric_limits<double>::infinity();
    if (mine.is("negative")) remaining[2] = -1;
    if (mine.is("negative wish")) wish[0] = -1;
    if (mine.is("unknown")) remaining[0] = std::nan("");
    if (mine.is("too far")) std::memset(remaining, 0x7F, std::size_t{64} << 20);
    return RATION_OK;
}

std::int32_t save(void* self, void* buffer, std::uint64_t capacity, std::uint64_t* size) {
    *size = sizeof(std::int64_t);
    if (capacity < *size) return RATION_E_CAPACITY;
    std::memcpy(buffer, &static_cast<instance*>(self)->count, sizeof(std::int64_t));
    return RATION_OK;
}
std::int32_t load(void* self, void const* buffer, std::uint64_t size) {
    if (size != sizeof(std::int64_t)) return RATION_E_STATE;
    std::memcpy(&static_cast<instance*>(self)->count, buffer, sizeof(std::int64_t));
    return RATION_OK;
}

}  // namespace

extern "C" {
extern RATION_EXPORT ration_estimator const ration_estimator_v1;
ration_estimator const ration_estimator_v1 = {
    sizeof(ration_estimator), RATION_F_DETERMINISTIC, &manifest, &create, &destroy, &bind, &estimate, &save, &load};
}
