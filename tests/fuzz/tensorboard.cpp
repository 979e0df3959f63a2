// SPDX-License-Identifier: BSL-1.0
// TensorBoard events: the first byte of an input decides whether the rest is a file, or the content of one record.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "run/tensorboard_events.hpp"
#include "support.hpp"

namespace program = ration::program;
using fuzz::require;
using outcome = program::event_records::outcome;

namespace {

void check_event(std::string_view record) {
    auto const event = program::read_event(record);
    if (!event) return;
    require(event->step <= INT64_MAX, "a step is negative");
    require(event->scalars.size() <= record.size(), "more scalars than bytes");
    for (auto const& scalar : event->scalars) {
        bool const within =
            scalar.tag.empty() || (scalar.tag.data() >= record.data() &&
                                   scalar.tag.data() + scalar.tag.size() <= record.data() + record.size());
        require(within, "a tag lies outside of its record");
    }
}

/// The contents of the sound records of a file.
[[nodiscard]] std::vector<std::string> records_of(std::string_view file) {
    program::event_records records;
    std::vector<std::string> out;
    bool lost = false;
    for (char const byte : file) {
        auto const found = records.put(byte);
        require(!lost || found == outcome::lost, "a lost file is found again");
        lost = lost || found == outcome::lost;
        if (found != outcome::record) continue;
        require(records.record().size() <= program::event_records::longest, "a record is too long");
        out.emplace_back(records.record());
        check_event(records.record());
    }
    return out;
}

[[nodiscard]] std::string bytes_of(std::uint64_t number, int count) {
    std::string out;
    for (int at = 0; at < count; ++at) out += static_cast<char>(number >> (8 * at) & 0xFF);
    return out;
}

[[nodiscard]] std::string framed(std::string_view content) {
    auto const length = bytes_of(content.size(), 8);
    return length + bytes_of(program::record_checksum(length), 4) + std::string(content) +
           bytes_of(program::record_checksum(content), 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    bool const is_file = in.take<std::uint8_t>() % 2 == 0;
    auto const text = in.rest();
    if (is_file) {
        static_cast<void>(records_of(text));
    } else {
        check_event(text);
        require(records_of(framed(text) + framed("")) == std::vector<std::string>{std::string(text), ""},
                "a record is not read as it was written");
    }
    return 0;
}
