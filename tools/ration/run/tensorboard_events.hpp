// SPDX-License-Identifier: BSL-1.0
/// The scalars of a TensorBoard event file. Sources: tensorflow/core/lib/io/record_writer.h (framing),
/// tensorboard/compat/proto/{event,summary,tensor,tensor_shape,types}.proto, RFC 3720 B.4 (CRC32C).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ration::program {

/// Takes a file apart into records, byte by byte, as it grows. A record is its length of 8 bytes, a checksum of the
/// length, its content, and a checksum of the content.
class event_records {
public:
    /// Longer records have images, sounds or graphs. They are skipped.
    static constexpr std::size_t longest = std::size_t{64} << 10;

    enum class outcome : std::uint8_t {
        pending,  ///< the record is not complete
        record,   ///< `record()` has the content of one, until the next call
        skipped,  ///< one was too long
        damaged,  ///< the checksum of a content is wrong; more records follow
        lost      ///< the checksum of a length is wrong, so that the next record cannot be found
    };

    /// Adds a byte. After `lost`, every call returns `lost`.
    [[nodiscard]] outcome put(char byte);

    [[nodiscard]] std::string_view record() const noexcept { return content_; }

private:
    enum class part : std::uint8_t { head, content, checksum, lost };

    part part_ = part::head;
    std::array<char, 12> fixed_{};  // of the head, or of the checksum
    std::size_t filled_ = 0;        // of `fixed_`
    std::uint64_t length_ = 0, read_ = 0;
    std::string content_;

    [[nodiscard]] outcome end_head() noexcept;
    [[nodiscard]] outcome end_record() noexcept;
};

struct event_scalar {
    std::string_view tag;  ///< a part of the record
    double value = 0;
};

/// The scalars of one step.
struct scalar_event {
    std::uint64_t step = 0;
    std::vector<event_scalar> scalars;
};

/// The scalars of a record: simple values, and tensors of one float or double. Everything else is skipped. Nothing if
/// the record is not an event, or has a negative step. O(bytes of the record).
[[nodiscard]] std::optional<scalar_event> read_event(std::string_view record);

/// The checksum of records: CRC32C, rotated and offset.
[[nodiscard]] std::uint32_t record_checksum(std::string_view bytes) noexcept;

}  // namespace ration::program
