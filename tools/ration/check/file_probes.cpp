// SPDX-License-Identifier: BSL-1.0
// Probes of the file's own description, before any of its code runs.
#include <cstring>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include <ration/plugin/host/elf_file.hpp>

#include "events/json_reader.hpp"
#include "finding.hpp"
#include "probe.hpp"

namespace ration::conformance {
namespace {

template <class T>
[[nodiscard]] T good(result<T> read) {
    if (!read)
        broken(fmt::format("{}: {}: {}", read.failure().subject.view(), name_of(read.failure().code),
                           read.failure().remedy));
    return std::move(*read);
}

void expect_elf(subject const& s) {
    auto const facts = good(plugin::inspect(s.file));
    static_cast<void>(good(plugin::manifest_in(s.file)));
    if (facts.text_relocations) broken("it has text relocations: its code would be written to while it is loaded");
    if (facts.executable_stack) broken("it asks for an executable stack");
}

void expect_magic(subject const& s) {
    auto const m = good(plugin::manifest_in(s.file));
    if (std::memcmp(m.magic, RATION_ABI_MAGIC, sizeof m.magic) != 0)
        broken(fmt::format(
            "the manifest begins with another word than {}: it was built for another major version of the ABI",
            RATION_ABI_MAGIC));
}

void expect_minor(subject const& s) {
    auto const m = good(plugin::manifest_in(s.file));
    if (m.abi_minor_needed > RATION_ABI_MINOR)
        broken(fmt::format("it needs minor version {} of the ABI, and this host has {}", m.abi_minor_needed,
                           RATION_ABI_MINOR));
}

void expect_layout(subject const& s) {
    auto const m = good(plugin::manifest_in(s.file));
    if (m.layout != RATION_LAYOUT)
        broken(fmt::format("its structs are laid out otherwise: word {:#x}, and the host's is {:#x}", m.layout,
                           RATION_LAYOUT));
}

void expect_manifest(subject const& s) {
    auto const m = good(plugin::manifest_in(s.file));
    if (auto const fine = plugin::acceptable(m); !fine)
        broken(fmt::format("{}: {}", fine.failure().subject.view(), fine.failure().remedy));
    if (std::string_view const version(m.version); !plugin::is_semantic_version(version))
        broken(fmt::format("its version '{}' is not a semantic version: write three numbers, as in 1.0.0", version));
    static_cast<void>(good(plugin::needs_of(m)));
    std::string_view const schema(m.parameters);
    if (!schema.empty() && !program::parse_json(schema).is_object())
        broken("its parameters are not a JSON schema: write an object, or nothing");
}

void expect_one_export(subject const& s) {
    auto const facts = good(plugin::inspect(s.file));
    bool const is_estimator = plugin::is_estimator_file(good(plugin::manifest_in(s.file)));
    std::string const symbol = is_estimator ? RATION_ABI_ESTIMATOR_SYMBOL : RATION_ABI_SYMBOL;
    if (facts.exports != std::vector{symbol})
        broken(facts.exports.empty()
                   ? "it does not export " + symbol
                   : fmt::format("it exports {} and may export {} only", fmt::join(facts.exports, ", "), symbol));
    if (!facts.unique_symbols.empty())
        broken(fmt::format("the unique symbol {} would keep it loaded forever", facts.unique_symbols.front()));
}

constexpr probe file_probes[] = {
    {"file/elf", "name a shared object that was built for this machine with ration_add_policy", &expect_elf,
     then::stop},
    {"file/exports",
     "link it with cmake/policy.map and -fvisibility=hidden, with GCC also -fno-gnu-unique: ration_add_policy does",
     &expect_one_export},
    {"file/abi", "build it again with this host's ration/plugin/abi.h", &expect_magic, then::stop},
    {"file/minor", "upgrade the host, or build it with an older ration/plugin/abi.h", &expect_minor, then::stop},
    {"file/layout", "build it without -fpack-struct and with an unchanged ration/plugin/abi.h", &expect_layout,
     then::stop},
    {"file/manifest", "mend the texts, version, flags, needs and extensions of the manifest", &expect_manifest,
     then::stop},
};

}  // namespace

std::span<probe const> probes_of_the_file() noexcept { return file_probes; }

}  // namespace ration::conformance
