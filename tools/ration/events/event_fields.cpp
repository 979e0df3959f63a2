// SPDX-License-Identifier: BSL-1.0
#include "events/event_fields.hpp"

#include <fmt/format.h>
#include <limits>

#include <ration/resource.hpp>

#include "events/bytes_member.hpp"

namespace ration::program {
namespace {

[[nodiscard]] bool is_whole(nlohmann::json const& value) {
    return value.is_number_unsigned() &&
           value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

nlohmann::json const no_elements = nlohmann::json::array(), no_members = nlohmann::json::object();

}  // namespace

std::optional<double> number_in(nlohmann::json const& value) {
    if (value.is_number()) return value.get<double>();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

std::optional<double> amount_in(nlohmann::json const& value) {
    if (value == "unlimited" || (value.is_number_integer() && value.get<std::int64_t>() == unlimited))
        return std::numeric_limits<double>::infinity();
    return value.is_number_unsigned() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    std::size_t end = most - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

void event_fields::refuse(char const* name, std::string_view wanted) {
    if (status_) status_ = diagnostic{.text = fmt::format("its field '{}' is not {}", name, wanted)};
}

nlohmann::json const* event_fields::found(char const* name) {
    auto const field = object_.find(name);
    if (field != object_.end()) return &*field;
    if (status_) status_ = diagnostic{.text = fmt::format("it has no field '{}'", name)};
    return nullptr;
}

std::string event_fields::text(char const* name) {
    auto const* const field = found(name);
    if (field == nullptr) return {};
    if (!field->is_string()) {
        refuse(name, "a text");
        return std::string();
    }
    return field->get<std::string>();
}

std::string event_fields::bytes(char const* name) {
    auto const* const field = found(name);
    auto const bytes = field != nullptr ? bytes_in(*field) : std::optional<std::string>();
    if (field != nullptr && !bytes) refuse(name, "a text");
    return bytes.value_or("");
}

bool event_fields::boolean(char const* name) {
    auto const* const field = found(name);
    if (field == nullptr) return false;
    if (!field->is_boolean()) {
        refuse(name, "true or false");
        return false;
    }
    return field->get<bool>();
}

std::int64_t event_fields::whole(char const* name) {
    auto const* const field = found(name);
    if (field == nullptr) return 0;
    if (!is_whole(*field)) {
        refuse(name, "a whole number from 0 on");
        return 0;
    }
    return field->get<std::int64_t>();
}

std::optional<std::int64_t> event_fields::maybe_whole(char const* name) {
    auto const* const field = found(name);
    if (field == nullptr || field->is_null()) return std::nullopt;
    return whole(name);
}

double event_fields::read(char const* name, std::optional<double> (*in)(nlohmann::json const&),
                          std::string_view wanted) {
    auto const* const field = found(name);
    if (field == nullptr) return 0;
    auto const value = in(*field);
    if (!value) refuse(name, wanted);
    return value.value_or(0);
}

double event_fields::number(char const* name) { return read(name, number_in, "a number"); }

std::optional<double> event_fields::maybe_number(char const* name) {
    auto const* const field = found(name);
    if (field == nullptr || field->is_null()) return std::nullopt;
    return number(name);
}

double event_fields::amount(char const* name) { return read(name, amount_in, "an amount"); }

nlohmann::json const& event_fields::array(char const* name) {
    auto const* const field = found(name);
    if (field == nullptr) return no_elements;
    if (!field->is_array()) {
        refuse(name, "an array");
        return no_elements;
    }
    return *field;
}

nlohmann::json const& event_fields::object(char const* name) {
    auto const* const field = found(name);
    if (field == nullptr) return no_members;
    if (!field->is_object()) {
        refuse(name, "an object");
        return no_members;
    }
    return *field;
}

std::string event_fields::text_or(char const* name, std::string_view without) const {
    auto const field = object_.find(name);
    return field != object_.end() && field->is_string() ? field->get<std::string>() : std::string(without);
}

}  // namespace ration::program
