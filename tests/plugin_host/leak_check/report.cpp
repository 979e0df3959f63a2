// SPDX-License-Identifier: BSL-1.0
// Where sightings go.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "leak_check.hpp"

namespace leak_check {
namespace {

using sentence = char[128];

char file[256];
std::atomic<bool> anything{false}, strict{false};
observations without_instance;

void append(char const* text, std::size_t size) noexcept {
    if (file[0] == '\0') return;
    int const fd = ::open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (size != 0) static_cast<void>(!::write(fd, text, size));
    ::close(fd);
}

void record(char const* text) noexcept {
    if (strict) std::abort();
    sentence line;
    append(line, static_cast<std::size_t>(std::snprintf(line, sizeof line, "%s\n", text)));
}

void write_sentence(sentence& text, int number, char const* format, std::va_list words) noexcept {
    int const begin = std::snprintf(text, sizeof text, "H%d: ", number);
    std::vsnprintf(text + begin, sizeof text - 1 - static_cast<std::size_t>(begin), format, words);
}

void log(instance const& self, char const* text) noexcept {
    if (self.host.log != nullptr) self.host.log(self.host.ctx, RATION_LOG_ERROR, text, std::strlen(text));
}

}  // namespace

void see(instance& self, int number, char const* format, ...) noexcept {
    anything = true;
    if (self.seen.count[number]++ != 0) return;
    auto& text = self.seen.first[number];
    std::va_list words;
    va_start(words, format);
    write_sentence(text, number, format, words);
    va_end(words);
    record(text);
    log(self, text);
}

void see_without_instance(int number, char const* format, ...) noexcept {
    anything = true;
    if (without_instance.count[number]++ != 0) return;
    std::va_list words;
    va_start(words, format);
    write_sentence(without_instance.first[number], number, format, words);
    va_end(words);
    record(without_instance.first[number]);
}

void emit_earlier_state(instance& self) noexcept {
    for (int number = 1; number <= misbehaviours; ++number)
        if (without_instance.count[number] != 0)
            see(self, number, "%s", without_instance.first[number] + (number < 10 ? 4 : 5));
    without_instance = {};
}

void record_to(char const* path, std::size_t length) noexcept {
    if (length >= sizeof file) return;
    std::memcpy(file, path, length);
    file[length] = '\0';
    append("", 0);  // an empty file shows that nothing was seen, a missing file shows nothing
}

void abort_at_a_sighting() noexcept { strict = true; }

bool anything_seen() noexcept { return anything; }

}  // namespace leak_check
