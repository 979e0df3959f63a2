// SPDX-License-Identifier: BSL-1.0
#include "events/bytes_member.hpp"

#include <boost/algorithm/hex.hpp>
#include <iterator>

#include "common/utf8.hpp"

namespace ration::program {

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        auto const length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string hex_of(std::string_view bytes) {
    std::string digits;
    boost::algorithm::hex_lower(bytes.begin(), bytes.end(), std::back_inserter(digits));
    return digits;
}

void write_bytes(json_writer& json, std::string_view bytes) {
    if (is_utf8(bytes)) return json.value(bytes);
    json.object([&] { json.member("hex", hex_of(bytes)); });
}

std::optional<std::string> bytes_in(nlohmann::json const& value) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_object() || value.size() != 1 || !value.contains("hex") || !value["hex"].is_string())
        return std::nullopt;
    std::string bytes;
    try {
        boost::algorithm::unhex(value["hex"].get_ref<std::string const&>(), std::back_inserter(bytes));
    } catch (boost::algorithm::hex_decode_error const&) {
        return std::nullopt;
    }
    return bytes;
}

}  // namespace ration::program
