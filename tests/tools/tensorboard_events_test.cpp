// SPDX-License-Identifier: BSL-1.0
// TensorBoard events: files of the real writers, and bytes that no writer makes.
#include "run/tensorboard_events.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/catch.hpp"

using namespace ration::program;
using namespace std::string_literals;
using outcome = event_records::outcome;

namespace {

using row = std::tuple<std::uint64_t, std::string, double>;

/// What a file of the real writers has, without the scalars that are not a number.
std::vector<row> rows_of(std::string const& name) {
    std::ifstream file(RATION_EVENT_FILES "/" + name, std::ios::binary);
    REQUIRE(file);
    std::vector<row> out;
    event_records records;
    for (auto at = std::istreambuf_iterator<char>(file); at != std::istreambuf_iterator<char>(); ++at) {
        auto const found = records.put(*at);
        REQUIRE((found == outcome::pending || found == outcome::record));
        if (found == outcome::pending) continue;
        auto const event = read_event(records.record());
        REQUIRE(event);
        for (auto const& [tag, value] : event->scalars)
            if (!std::isnan(value)) out.emplace_back(event->step, tag, value);
    }
    return out;
}

std::string little(std::uint64_t number, int bytes) {
    std::string out;
    for (int at = 0; at < bytes; ++at) out += static_cast<char>(number >> (8 * at) & 0xFF);
    return out;
}
std::string head_of(std::uint64_t length) {
    auto const bytes = little(length, 8);
    return bytes + little(record_checksum(bytes), 4);
}
std::string framed(std::string const& content) {
    return head_of(content.size()) + content + little(record_checksum(content), 4);
}

/// The outcomes of bytes other than `pending`, and the records.
std::pair<std::vector<outcome>, std::vector<std::string>> put_all(event_records& records, std::string const& bytes) {
    std::vector<outcome> outcomes;
    std::vector<std::string> contents;
    for (char const byte : bytes) {
        auto const found = records.put(byte);
        if (found != outcome::pending) outcomes.push_back(found);
        if (found == outcome::record) contents.emplace_back(records.record());
    }
    return {outcomes, contents};
}

/// A field of bytes in the wire format.
std::string field(int number, std::string const& bytes) {
    return static_cast<char>(number << 3 | 2) + little(bytes.size(), 1) + bytes;
}
/// An event of step 7 with one value.
std::string event_with(std::string const& value) { return "\x10\x07" + field(5, field(1, field(1, "t") + value)); }

std::string const one_float = "\0\0\x80\x3f"s, one_double = "\0\0\0\0\0\0\xf0\x3f"s;

}  // namespace

TEST_CASE("TensorBoard: scalars of tensorboardX", "[tensorboard]") {
    CHECK(rows_of("tensorboardX.tfevents") == std::vector<row>{{0, "Loss/train", 1},
                                                               {0, "lr", 0.125},
                                                               {1, "Loss/train", 0.5},
                                                               {1, "lr", 0.125},
                                                               {2, "Loss/train", static_cast<float>(1 / 3.0)},
                                                               {2, "lr", 0.125},
                                                               {3, "Loss/train", 0.25},
                                                               {3, "lr", 0.125},
                                                               {3, "Loss/val", 0.25}});
}

TEST_CASE("TensorBoard: scalars of tensorboard, simple and as tensors", "[tensorboard]") {
    CHECK(rows_of("tensorboard.tfevents") == std::vector<row>{{0, "loss", 2},
                                                              {0, "acc", 0},
                                                              {1, "loss", 1},
                                                              {1, "acc", 0.5},
                                                              {2, "loss", 0.5},
                                                              {3, "loss", 0.25},
                                                              {4, "loss", 0.125}});
}

TEST_CASE("TensorBoard: the checksum is masked CRC32C", "[tensorboard]") {
    // RFC 3720 B.4: the CRC of 32 zero bytes is 0x8A9136AA
    CHECK(record_checksum(std::string(32, '\0')) == (0x8A9136AAU >> 15 | 0x8A9136AAU << 17) + 0xA282EAD8U);
}

TEST_CASE("TensorBoard: a record is read when its last byte is there", "[tensorboard]") {
    event_records records;
    auto const bytes = framed("abc") + framed("");
    CHECK(put_all(records, bytes.substr(0, 18)).first.empty());
    auto const rest = put_all(records, bytes.substr(18));
    CHECK(rest.second == std::vector<std::string>{"abc", ""});
}

TEST_CASE("TensorBoard: damage costs one record, or the rest of the file", "[tensorboard]") {
    event_records records;
    auto damaged = framed("abc");
    damaged[13] = 'x';
    CHECK(put_all(records, damaged + framed("d")) ==
          std::pair{std::vector{outcome::damaged, outcome::record}, std::vector<std::string>{"d"}});
    damaged = framed("abc");
    damaged[0] = 4;
    auto const lost = put_all(records, damaged + framed("d"));
    CHECK(lost.first.front() == outcome::lost);
    CHECK(lost.first.back() == outcome::lost);
    CHECK(lost.second.empty());
}

TEST_CASE("TensorBoard: a long record is skipped, and no length needs memory", "[tensorboard]") {
    event_records records;
    auto const longest = std::string(event_records::longest, 'a'), longer = longest + "a";
    auto const read = put_all(records, framed(longest) + framed(longer) + framed("d"));
    CHECK(read.first == std::vector{outcome::record, outcome::skipped, outcome::record});
    CHECK(read.second == std::vector{longest, "d"s});
    CHECK(put_all(records, head_of(UINT64_MAX) + std::string(1000, 'a')).first.empty());
    CHECK(records.record().empty());
}

TEST_CASE("TensorBoard: a tensor of one float or double is a scalar", "[tensorboard]") {
    auto const value_of = [](std::string const& tensor) {
        auto const event = read_event(event_with(field(8, tensor)));
        REQUIRE(event);
        CHECK(event->step == 7);
        return event->scalars.empty() ? -1 : event->scalars.front().value;
    };
    std::string const is_float = "\x08\x01", is_double = "\x08\x02", is_text = "\x08\x07";
    CHECK(value_of(is_float + field(5, one_float)) == 1);
    CHECK(value_of(is_float + "\x2d" + one_float) == 1);
    CHECK(value_of(is_float + field(4, one_float)) == 1);
    CHECK(value_of(is_double + field(6, one_double)) == 1);
    CHECK(value_of(is_double + field(4, one_double)) == 1);
    CHECK(value_of(is_float + field(2, "") + field(5, one_float)) == 1);
    CHECK(value_of(is_float + field(2, field(2, "\x08\x01")) + field(5, one_float)) == -1);
    CHECK(value_of(is_float + field(5, one_float + one_float)) == -1);
    CHECK(value_of(is_float + field(4, one_double)) == -1);
    CHECK(value_of(is_double + field(4, one_float)) == -1);
    CHECK(value_of(is_text + field(4, one_float)) == -1);
    CHECK(value_of("") == -1);
}

TEST_CASE("TensorBoard: what is not an event is refused", "[tensorboard]") {
    auto const simple = event_with("\x15" + one_float);
    REQUIRE(read_event(simple));
    CHECK(read_event(simple)->scalars.size() == 1);
    for (std::size_t length = 3; length < simple.size(); ++length) CHECK_FALSE(read_event(simple.substr(0, length)));
    CHECK(read_event(""));
    CHECK(read_event("\x10\x80\x80\x80\x80\x80\x80\x01")->step == std::uint64_t{1} << 42);
    CHECK_FALSE(read_event("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));  // step -1
    CHECK_FALSE(read_event("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    CHECK_FALSE(read_event("\x0b"));                                      // a group
    CHECK_FALSE(read_event("\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));  // a summary of 2^63 bytes
    CHECK_FALSE(read_event(event_with(field(8, "\x0b"))));
    CHECK_FALSE(read_event(field(5, field(1, "\x0a\x05"))));
}
