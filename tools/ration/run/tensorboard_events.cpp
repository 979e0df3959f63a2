// SPDX-License-Identifier: BSL-1.0
#include "run/tensorboard_events.hpp"

#include <algorithm>
#include <bit>
#include <boost/crc.hpp>

namespace ration::program {
namespace {

constexpr std::size_t length_bytes = 8, checksum_bytes = 4;

/// CRC-32C, by the polynomial of G. Castagnoli.
using crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

/// A little-endian number of at most 8 bytes.
[[nodiscard]] std::uint64_t number_in(std::string_view bytes) noexcept {
    std::uint64_t out = 0;
    for (std::size_t at = bytes.size(); at > 0; --at) out = out << 8 | static_cast<unsigned char>(bytes[at - 1]);
    return out;
}

[[nodiscard]] double float_in(std::string_view four_bytes) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(number_in(four_bytes)));
}
[[nodiscard]] double double_in(std::string_view eight_bytes) noexcept {
    return std::bit_cast<double>(number_in(eight_bytes));
}

enum class wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// The fields of one message in the wire format of protocol buffers.
class message_fields {
    std::string_view left_;
    bool sound_ = true;

public:
    std::uint64_t number = 0;  ///< of the field
    wire type = wire::varint;
    std::uint64_t varint = 0;
    std::string_view bytes;  ///< of a field of any other type

    explicit message_fields(std::string_view message) noexcept : left_(message) {}

    /// Moves to the next field; false at the end, and where the message is malformed.
    [[nodiscard]] bool next() noexcept {
        if (left_.empty()) return false;
        std::uint64_t const key = take_varint();
        number = key >> 3;
        type = static_cast<wire>(key & 7);
        switch (type) {
            case wire::varint: varint = take_varint(); break;
            case wire::fixed64: take(8); break;
            case wire::fixed32: take(4); break;
            case wire::bytes: take(take_varint()); break;
            default: sound_ = false;  // groups are obsolete
        }
        return sound_;
    }
    [[nodiscard]] bool sound() const noexcept { return sound_; }
    [[nodiscard]] bool is(std::uint64_t field, wire of_type) const noexcept {
        return number == field && type == of_type;
    }

private:
    void take(std::uint64_t size) noexcept {
        sound_ = sound_ && size <= left_.size();
        if (!sound_) return;
        bytes = left_.substr(0, static_cast<std::size_t>(size));
        left_.remove_prefix(bytes.size());
    }
    [[nodiscard]] std::uint64_t take_varint() noexcept {
        std::uint64_t out = 0;
        for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
            auto const byte = static_cast<unsigned char>(left_.front());
            left_.remove_prefix(1);
            out |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return out;
        }
        sound_ = false;
        return 0;
    }
};

/// TensorProto: its type, its values in one of three forms, and whether its shape has dimensions.
struct tensor_reader {
    static constexpr std::uint64_t float_type = 1, double_type = 2;
    std::uint64_t type = 0;
    bool has_dimensions = false;
    std::string_view content, floats, doubles;

    [[nodiscard]] bool read(std::string_view message) noexcept {
        message_fields field(message);
        while (field.next()) {
            bool const is_shape = field.is(2, wire::bytes);
            if (field.is(1, wire::varint)) type = field.varint;
            if (field.is(4, wire::bytes)) content = field.bytes;
            if (field.is(5, wire::bytes) || field.is(5, wire::fixed32)) floats = field.bytes;
            if (field.is(6, wire::bytes) || field.is(6, wire::fixed64)) doubles = field.bytes;
            if (is_shape) has_dimensions = has_dimensions || !field.bytes.empty();
        }
        return field.sound();
    }
    [[nodiscard]] std::optional<double> scalar() const noexcept {
        if (has_dimensions) return std::nullopt;
        if (type == float_type) {
            auto const value = floats.empty() ? content : floats;
            if (value.size() == 4) return float_in(value);
        }
        if (type == double_type) {
            auto const value = doubles.empty() ? content : doubles;
            if (value.size() == 8) return double_in(value);
        }
        return std::nullopt;
    }
};

/// Summary.Value. False where it is malformed.
[[nodiscard]] bool read_value(std::string_view message, std::vector<event_scalar>& into) {
    message_fields field(message);
    std::string_view tag;
    std::optional<double> value;
    while (field.next()) {
        if (field.is(1, wire::bytes)) tag = field.bytes;
        if (field.is(2, wire::fixed32)) value = float_in(field.bytes);
        if (!field.is(8, wire::bytes)) continue;
        tensor_reader tensor;
        if (!tensor.read(field.bytes)) return false;
        value = tensor.scalar();
    }
    if (field.sound() && value) into.push_back({tag, *value});
    return field.sound();
}

[[nodiscard]] bool read_summary(std::string_view message, std::vector<event_scalar>& into) {
    message_fields field(message);
    while (field.next())
        if (field.is(1, wire::bytes) && !read_value(field.bytes, into)) return false;
    return field.sound();
}

}  // namespace

std::uint32_t record_checksum(std::string_view bytes) noexcept {
    crc32c sum;
    sum.process_bytes(bytes.data(), bytes.size());
    return std::rotr(static_cast<std::uint32_t>(sum.checksum()), 15) + 0xA282EAD8U;
}

std::optional<scalar_event> read_event(std::string_view record) {
    scalar_event out;
    message_fields field(record);
    while (field.next()) {
        if (field.is(2, wire::varint)) out.step = field.varint;
        if (field.is(5, wire::bytes) && !read_summary(field.bytes, out.scalars)) return std::nullopt;
    }
    if (!field.sound() || out.step > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return out;
}

event_records::outcome event_records::put(char byte) {
    switch (part_) {
        case part::lost: return outcome::lost;
        case part::head:
            fixed_[filled_++] = byte;
            return filled_ == length_bytes + checksum_bytes ? end_head() : outcome::pending;
        case part::content:
            if (length_ <= longest) content_ += byte;
            if (++read_ == length_) part_ = part::checksum;
            return outcome::pending;
        case part::checksum:
            fixed_[filled_++] = byte;
            return filled_ == checksum_bytes ? end_record() : outcome::pending;
    }
    return outcome::lost;
}

event_records::outcome event_records::end_head() noexcept {
    std::string_view const length(fixed_.data(), length_bytes), checksum(fixed_.data() + length_bytes, checksum_bytes);
    filled_ = 0;
    read_ = 0;
    content_.clear();
    length_ = number_in(length);
    if (number_in(checksum) != record_checksum(length)) {
        part_ = part::lost;
        return outcome::lost;
    }
    part_ = length_ == 0 ? part::checksum : part::content;
    return outcome::pending;
}

event_records::outcome event_records::end_record() noexcept {
    filled_ = 0;
    part_ = part::head;
    if (length_ > longest) return outcome::skipped;
    std::string_view const checksum(fixed_.data(), checksum_bytes);
    return number_in(checksum) == record_checksum(content_) ? outcome::record : outcome::damaged;
}

}  // namespace ration::program
