// SPDX-License-Identifier: BSL-1.0
#include "record.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <system_error>

namespace ration::conformance {
namespace {

template <std::size_t N>
void copy(std::string_view text, char (&into)[N]) noexcept {
    text.copy(into, N - 1);
}
template <std::size_t N>
[[nodiscard]] std::string_view text_in(char const (&field)[N]) noexcept {
    return {field, ::strnlen(field, N)};
}

}  // namespace

probe_record& probe_record::make() {
    auto* const memory =
        ::mmap(nullptr, sizeof(probe_record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "cannot start a probe: mmap");
    return *static_cast<probe_record*>(memory);
}

void probe_record::remove() noexcept { ::munmap(this, sizeof *this); }

void probe_record::add_note(std::string_view text) noexcept {
    if (note_size_ > 0) append("; ");
    append(text);
}

void probe_record::append(std::string_view text) noexcept {
    auto const at = std::min(note_size_, sizeof note_ - 1);
    auto const size = std::min(text.size(), sizeof note_ - 1 - at);
    std::memcpy(note_ + at, text.data(), size);
    note_size_ = at + size;
}

void probe_record::finish(finding const& found, std::string_view token) noexcept {
    copy(found.why, sentence_);
    verdict_ = static_cast<std::uint8_t>(found.is);
    copy(token, token_);
}

std::string probe_record::note() const { return std::string(text_in(note_)); }

std::optional<finding> probe_record::result(std::string_view token) const {
    if (text_in(token_) != token || verdict_ > static_cast<std::uint8_t>(verdict::skipped)) return std::nullopt;
    return finding{static_cast<verdict>(verdict_), std::string(text_in(sentence_)), {}};
}

}  // namespace ration::conformance
