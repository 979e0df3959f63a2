// SPDX-License-Identifier: BSL-1.0
// Which instances live, for H1 and H12, and what the end of the code finds of them, for H14 and H17.
#include <cstddef>
#include <iterator>

#include "leak_check.hpp"

namespace leak_check {
namespace {

instance pool[32];
std::atomic<std::size_t> next{0};  // in turn, so that a dead one is not soon another's place

// The two ends of the code. At the end of the process the C library runs destructors of objects first and the library's
// own afterwards; at dlclose it runs the library's own first, and the objects' from inside of it. So the one that
// comes first shows which end this is.
bool over = false;

void find_the_living(int number, char const* what) noexcept {
    if (over) return;
    over = true;
    // One that failed may have been left alone on purpose: the host's log or its quarantine shows this
    for (auto& self : pool)
        if (self.alive && !self.failed) see_without_instance(number, "%s, and an instance was never destroyed", what);
}

struct end_of_process {
    ~end_of_process() { find_the_living(14, "the process ends"); }
} const at_end;

[[gnu::destructor]] void end_of_code() { find_the_living(17, "the code is unloaded"); }

}  // namespace

instance* new_instance() noexcept {
    for (std::size_t tries = 0; tries < std::size(pool); ++tries) {
        auto& self = pool[next++ % std::size(pool)];
        bool dead = false;
        if (!self.alive.compare_exchange_strong(dead, true)) continue;
        static_cast<memory&>(self) = {};
        return &self;
    }
    return nullptr;
}

instance* known(void* self, char const* call) noexcept {
    for (auto& one : pool)
        if (&one == self && one.alive) return &one;
    see_without_instance(1, "%s of an instance that does not exist, or not any more", call);
    return nullptr;
}

bool shares_its_output(instance const& self) noexcept {
    for (auto const& other : pool)
        if (&other != &self && other.alive && other.output.load() < self.output_end.load() &&
            self.output.load() < other.output_end.load())
            return true;
    return false;
}

}  // namespace leak_check
