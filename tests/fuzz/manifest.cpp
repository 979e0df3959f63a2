// SPDX-License-Identifier: BSL-1.0
// Manifests and config texts of plugins. An input is lines: a letter for the field, and then its value. The line 'c'
// is a config text.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>
#include <string>

#include <ration/adapt/policies/tradl.hpp>
#include <ration/plugin/host/manifest.hpp>

#include "support.hpp"

namespace plugin = ration::plugin;
using fuzz::require;

namespace {

struct text_field {
    char letter;
    std::span<char> (*of)(ration_manifest&);
};

constexpr text_field text_fields[] = {{'m', [](ration_manifest& m) { return std::span<char>(m.magic); }},
                                      {'i', [](ration_manifest& m) { return std::span<char>(m.id); }},
                                      {'n', [](ration_manifest& m) { return std::span<char>(m.name); }},
                                      {'v', [](ration_manifest& m) { return std::span<char>(m.version); }},
                                      {'w', [](ration_manifest& m) { return std::span<char>(m.vendor); }},
                                      {'l', [](ration_manifest& m) { return std::span<char>(m.license); }},
                                      {'s', [](ration_manifest& m) { return std::span<char>(m.summary); }},
                                      {'x', [](ration_manifest& m) { return std::span<char>(m.extensions); }},
                                      {'r', [](ration_manifest& m) { return std::span<char>(m.reasons); }},
                                      {'p', [](ration_manifest& m) { return std::span<char>(m.parameters); }},
                                      {'d', [](ration_manifest& m) { return std::span<char>(m.needs); }}};

/// Sets the field that a line of an input names; ';' becomes an end of line. A value that ends in '~' fills the field
/// to its end, without a zero byte.
void set_field(ration_manifest& m, char letter, std::string_view value) {
    auto const found = std::ranges::find(text_fields, letter, &text_field::letter);
    if (found == std::end(text_fields)) return;
    auto const field = found->of(m);
    std::ranges::fill(field, value.ends_with('~') ? '~' : '\0');
    std::ranges::copy(value.substr(0, field.size()), field.begin());
    std::ranges::replace(field, ';', '\n');
}

void set_numbers(ration_manifest& m, fuzz::input numbers) {
    m.flags = numbers.take<std::uint32_t>();
    m.struct_size = numbers.take<std::uint32_t>();
    m.abi_minor_needed = numbers.take<std::uint8_t>();
    m.layout ^= numbers.take<std::uint8_t>();
}

void require_sound(ration_manifest const& m) {
    plugin::described_policy const described(m);
    auto const& about = described.about();
    require(!about.id.empty() && about.id.size() < sizeof m.id && !described.name().empty(),
            "an accepted manifest has no id or no name");
    for (auto const text : {about.id, about.version, about.summary, about.vendor, about.license, described.name()})
        for (char const c : text)
            require(static_cast<unsigned char>(c) >= ' ' && c != '\x7f', "a text of one line holds control characters");
    auto const needed = plugin::needs_of(m);
    if (!needed) return require(*needed.failure().remedy != '\0', "a bad line of needs is refused without a remedy");
    for (auto const& column : *needed) {
        require(!column.name.empty() && column.name.size() <= ration::longest_column_name,
                "a column's name is out of bounds");
        require(plugin::needs(m, column.name), "a column that is needed is not found among the needs");
    }
}

/// Parameters of tradl as a host hands them over.
void read_config(std::string_view text) {
    ration::flat_json json(text);
    for (ration::json_member member; json.next(member);)
        require(fuzz::is_inside(member.name, text) && fuzz::is_inside(member.value, text),
                "a parameter is not of its text");
    ration::policies::tradl_parameters given;
    ration::text<255> wrong;
    bool const read = ration::parameter_access<ration::policies::tradl_parameters>::read(text, given, wrong);
    require(read || !wrong.empty(), "parameters are refused without a sentence");
    require(!read || (json.wrong() == nullptr && given.alpha >= 0 && given.alpha <= 1), "a parameter is out of bounds");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    ration_manifest m{};
    std::memcpy(m.magic, RATION_ABI_MAGIC, sizeof m.magic);
    m.struct_size = sizeof m;
    m.layout = RATION_LAYOUT;
    for (fuzz::input in(data, size); !in.empty();) {
        auto const line = in.line();
        if (line.empty()) continue;
        auto const value = line.substr(1);
        if (line.front() == 'c')
            read_config(value);
        else if (line.front() == 'u')
            set_numbers(m, {reinterpret_cast<std::uint8_t const*>(value.data()), value.size()});
        else
            set_field(m, line.front(), value);
    }
    auto const accepted = plugin::acceptable(m);
    if (accepted)
        require_sound(m);
    else
        require(*accepted.failure().remedy != '\0', "a manifest is refused without a remedy");
    return 0;
}
