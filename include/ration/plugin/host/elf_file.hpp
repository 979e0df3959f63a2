// SPDX-License-Identifier: BSL-1.0
/// Facts about an ELF file, read from its bytes without running any of its code. No offset and no
/// size in the file is trusted.
///
/// Used by `plugin_file` before a plugin is loaded, and by `ration check`. Source: elf(5), and the
/// ELF gABI.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/plugin/abi.h>
#include <ration/result.hpp>

namespace ration::plugin {

/// Facts that a host needs before it maps a plugin.
struct elf_facts {
    std::vector<std::string> exports;         ///< defined symbols that are visible; at most 4096
    std::vector<std::string> unique_symbols;  ///< those that prevent unloading (STB_GNU_UNIQUE)
    std::vector<std::string> needed;          ///< libraries that it is linked with
    /// Folders in which the dynamic linker looks for them first (DT_RUNPATH or DT_RPATH), separated
    /// by ':'
    std::vector<std::string> search;
    /// The file needs writable code, or a stack that can be executed; both are refused.
    bool text_relocations = false, executable_stack = false;
};

namespace detail {

/// Limits, since a file of the largest size could contain millions of names, each nearly as long as
/// the file.
inline constexpr std::size_t longest_name = 65536, most_names = 4096;

/// A file as typed records; every access is checked.
class elf_view {
    std::span<std::byte const> file_;

public:
    /// A view; the bytes have to outlive it.
    explicit elf_view(std::span<std::byte const> file) noexcept : file_(file) {}

    /// Copies a record. Returns false if it is not entirely in the file.
    template <class T>
    [[nodiscard]] bool read(std::uint64_t offset, T& record) const noexcept {
        if (offset > file_.size() || file_.size() - offset < sizeof(T)) return false;
        std::memcpy(&record, file_.data() + offset, sizeof(T));
        return true;
    }
    /// A range of bytes; empty if it is not entirely in the file.
    [[nodiscard]] std::span<std::byte const> bytes(std::uint64_t offset, std::uint64_t size) const noexcept {
        if (offset > file_.size() || file_.size() - offset < size) return {};
        return file_.subspan(offset, size);
    }
    /// A zero-terminated text inside one section; empty if it has no end, or is longer than every
    /// name.
    [[nodiscard]] std::string_view text(Elf64_Shdr const& strings, std::uint64_t at) const noexcept {
        auto const all = bytes(strings.sh_offset, strings.sh_size);
        if (at >= all.size()) return {};
        auto const* const first = reinterpret_cast<char const*>(all.data()) + at;
        auto const* const end =
            static_cast<char const*>(std::memchr(first, 0, std::min(all.size() - at, longest_name)));
        return end == nullptr ? std::string_view{} : std::string_view(first, static_cast<std::size_t>(end - first));
    }
};

/// An error of this file.
[[nodiscard]] inline error elf_error(errc code, char const* subject, char const* remedy) noexcept {
    return {.code = code, .operation = "read plugin", .subject = std::string_view(subject), .remedy = remedy};
}

/// The header and the section table of a shared object for this machine.
struct elf_sections {
    elf_view view;
    std::vector<Elf64_Shdr> all;
    Elf64_Ehdr header{};

    /// The section with this name, or nullptr.
    [[nodiscard]] Elf64_Shdr const* find(std::string_view name) const noexcept {
        for (auto const& section : all)
            if (view.text(all[header.e_shstrndx], section.sh_name) == name) return &section;
        return nullptr;
    }
    /// The first section of this type, or nullptr.
    [[nodiscard]] Elf64_Shdr const* find(std::uint32_t type) const noexcept {
        auto const at = std::ranges::find(all, type, &Elf64_Shdr::sh_type);
        return at == all.end() ? nullptr : &*at;
    }
};

#if defined(__x86_64__)
inline constexpr std::uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint16_t this_machine = EM_AARCH64;
#else
#error "ration: the plugin host supports x86-64 and aarch64"
#endif

/// Reads the header and the section table.
[[nodiscard]] inline result<elf_sections> sections_of(std::span<std::byte const> file) {
    elf_sections found{.view = elf_view(file), .all = {}, .header = {}};
    auto& h = found.header;
    if (!found.view.read(0, h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        return elf_error(errc::invalid_value, "header", "it is not an ELF file: name a .so that was built as a policy");
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != this_machine ||
        h.e_type != ET_DYN)
        return elf_error(errc::not_supported, "header", "it is not a shared object for this machine: build it here");
    if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum == 0 || h.e_shstrndx >= h.e_shnum)
        return elf_error(errc::invalid_value, "section table",
                         "the file is damaged, or stripped of its sections: build it again");
    found.all.resize(h.e_shnum);
    // The count is at most 65535, so the table cannot be made too large.
    for (std::size_t i = 0; i < found.all.size(); ++i)
        if (!found.view.read(h.e_shoff + i * sizeof(Elf64_Shdr), found.all[i]))
            return elf_error(errc::invalid_value, "section table", "the file is cut short: copy it again");
    return found;
}

/// Adds the exported symbols.
inline void add_symbols(elf_sections const& s, elf_facts& facts) {
    auto const* const symbols = s.find(SHT_DYNSYM);
    if (symbols == nullptr || symbols->sh_link >= s.all.size()) return;
    Elf64_Sym symbol;
    // The first symbol of a table is always undefined.
    for (std::uint64_t at = sizeof symbol; at + sizeof symbol <= symbols->sh_size && facts.exports.size() < most_names;
         at += sizeof symbol) {
        if (!s.view.read(symbols->sh_offset + at, symbol)) return;
        auto const bind = ELF64_ST_BIND(symbol.st_info);
        bool const seen = ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT ||
                          ELF64_ST_VISIBILITY(symbol.st_other) == STV_PROTECTED;
        if (symbol.st_shndx == SHN_UNDEF || bind == STB_LOCAL || !seen) continue;
        std::string const name(s.view.text(s.all[symbols->sh_link], symbol.st_name));
        facts.exports.push_back(name);
        if (bind == STB_GNU_UNIQUE) facts.unique_symbols.push_back(name);
    }
}

/// Adds the libraries, the search folders and the relocations.
inline void add_dynamic_facts(elf_sections const& s, elf_facts& facts) {
    auto const* const dynamic = s.find(SHT_DYNAMIC);
    if (dynamic == nullptr || dynamic->sh_link >= s.all.size()) return;
    Elf64_Dyn entry;
    for (std::uint64_t at = 0; at + sizeof entry <= dynamic->sh_size && facts.needed.size() < most_names;
         at += sizeof entry) {
        if (!s.view.read(dynamic->sh_offset + at, entry) || entry.d_tag == DT_NULL) return;
        auto const text = [&] { return s.view.text(s.all[dynamic->sh_link], entry.d_un.d_val); };
        if (entry.d_tag == DT_NEEDED) facts.needed.emplace_back(text());
        if ((entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH) && facts.search.size() < 2)
            facts.search.emplace_back(text());
        facts.text_relocations |=
            entry.d_tag == DT_TEXTREL || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL) != 0);
    }
}

/// Adds the permission of the stack.
inline void add_stack_fact(elf_sections const& s, elf_facts& facts) {
    Elf64_Phdr segment;
    for (std::uint64_t i = 0; i < s.header.e_phnum && s.view.read(s.header.e_phoff + i * sizeof segment, segment); ++i)
        facts.executable_stack |= segment.p_type == PT_GNU_STACK && (segment.p_flags & PF_X) != 0;
}

}  // namespace detail

/// Reads the facts of a file. Errors: invalid_value (not an ELF file, damaged), not_supported
/// (another machine). O(symbols).
[[nodiscard]] inline result<elf_facts> inspect(std::span<std::byte const> file) {
    auto const sections = detail::sections_of(file);
    if (!sections) return sections.failure();
    elf_facts facts;
    detail::add_symbols(*sections, facts);
    detail::add_dynamic_facts(*sections, facts);
    detail::add_stack_fact(*sections, facts);
    return facts;
}

/// The manifest in the file. A shorter one, of an older header, is filled with zeros. Errors: those
/// of `inspect`; not_found without the section.
[[nodiscard]] inline result<ration_manifest> manifest_in(std::span<std::byte const> file) {
    auto const sections = detail::sections_of(file);
    if (!sections) return sections.failure();
    auto const* const section = sections->find(std::string_view(RATION_ABI_SECTION));
    if (section == nullptr)
        return detail::elf_error(errc::not_found, "section ration",
                                 "it has no manifest, so it is not a policy: end its source with RATION_EXPORT_POLICY");
    auto const bytes = section->sh_type == SHT_NOBITS ? std::span<std::byte const>{}
                                                      : sections->view.bytes(section->sh_offset, section->sh_size);
    ration_manifest manifest{};
    if (bytes.size() < offsetof(ration_manifest, id))
        return detail::elf_error(errc::invalid_value, "section ration",
                                 "the manifest is cut short: build the plugin again");
    std::memcpy(&manifest, bytes.data(), std::min(bytes.size(), sizeof manifest));
    return manifest;
}

}  // namespace ration::plugin
