// SPDX-License-Identifier: BSL-1.0
// Plugin files before any of their code is loaded: nothing is read outside of the file, and what is kept of it is
// bounded.
#include <span>
#include <string>

#include <ration/plugin/host/elf_file.hpp>
#include <ration/plugin/host/manifest.hpp>

#include "support.hpp"

namespace plugin = ration::plugin;
using fuzz::require;

namespace {

void require_sound(plugin::elf_facts const& facts, std::size_t size) {
    require(facts.exports.size() <= plugin::detail::most_names && facts.needed.size() <= plugin::detail::most_names,
            "too many names are kept");
    require(facts.unique_symbols.size() <= facts.exports.size() && facts.search.size() <= 2,
            "more symbols are unique than there are");
    for (auto const* names : {&facts.exports, &facts.needed, &facts.search})
        for (auto const& name : *names) {
            require(name.size() < size && name.size() < plugin::detail::longest_name, "a name is longer than the file");
            require(name.find('\0') == name.npos, "a name holds a zero byte");
        }
}

template <class T>
void require_error(ration::result<T> const& read) {
    auto const& why = read.failure();
    require(*why.operation != '\0' && *why.remedy != '\0', "an error has no remedy");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    auto const file = std::as_bytes(std::span(data, size));
    auto const facts = plugin::inspect(file);
    auto const manifest = plugin::manifest_in(file);
    if (facts)
        require_sound(*facts, size);
    else
        require_error(facts);
    if (!manifest) {
        require_error(manifest);
        return 0;
    }
    require(static_cast<bool>(facts), "a manifest is found in a file that is not an ELF file");
    auto const accepted = plugin::acceptable(*manifest);
    if (!accepted) require_error(accepted);
    return 0;
}
