// SPDX-License-Identifier: BSL-1.0
// Plugin files and parameters with damage all over: whatever is read is read within bounds, and the rest is a sentence.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <ration/adapt/policies/tradl.hpp>
#include <ration/plugin/host/elf_file.hpp>
#include <ration/plugin/host/manifest.hpp>

#include "support/catch.hpp"
#include "support/mutations.hpp"

using namespace ration;
using namespace ration::plugin;

namespace {

/// A file that ends where the memory ends: who reads on, dies.
class last_page {
    std::size_t const page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t size_, whole_;
    std::byte* const place_;

public:
    explicit last_page(std::string const& content)
        : size_(content.size()), whole_((size_ + page_ - 1) / page_ * page_),
          place_(static_cast<std::byte*>(
              ::mmap(nullptr, whole_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        REQUIRE(place_ != MAP_FAILED);
        REQUIRE(::mprotect(place_ + whole_, page_, PROT_NONE) == 0);
        std::memcpy(bytes().data(), content.data(), size_);
    }
    last_page(last_page const&) = delete;
    ~last_page() { ::munmap(place_, whole_ + page_); }
    [[nodiscard]] std::span<std::byte> bytes() const { return {place_ + (whole_ - size_), size_}; }
};

[[nodiscard]] std::string contents(char const* name) {
    std::ifstream file(std::string(RATION_TEST_PLUGINS "/") + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct region {
    std::uint64_t from, size;
};

/// Where a reader looks: the headers, the table of sections, and the sections that say something.
[[nodiscard]] std::vector<region> interesting(std::span<std::byte const> file) {
    auto const sections = plugin::detail::sections_of(file);
    REQUIRE(sections);
    std::vector<region> all{{0, sizeof(Elf64_Ehdr)},
                            {sections->header.e_phoff, sections->header.e_phnum * sizeof(Elf64_Phdr)}};
    all.push_back({sections->header.e_shoff, sections->header.e_shnum * sizeof(Elf64_Shdr)});
    for (auto const& s : sections->all)
        if (s.sh_type == SHT_DYNSYM || s.sh_type == SHT_DYNAMIC) all.push_back({s.sh_offset, s.sh_size});
    for (auto const* const name : {".shstrtab", ".dynstr", RATION_ABI_SECTION}) {
        auto const* const s = sections->find(std::string_view(name));
        REQUIRE(s != nullptr);
        all.push_back({s->sh_offset, s->sh_size});
    }
    auto const manifest = sections->find(std::string_view(RATION_ABI_SECTION))->sh_offset;
    all.push_back({manifest, offsetof(ration_manifest, id) + 16});
    all.push_back({manifest + offsetof(ration_manifest, needs), 16});
    return all;
}

/// What a host reads before it maps a file; how far it came.
[[nodiscard]] int read_all(std::span<std::byte const> file) {
    auto const facts = inspect(file);
    auto const manifest = manifest_in(file);
    if (facts) {
        std::size_t text = 0;
        for (auto const* const names : {&facts->exports, &facts->needed})
            for (auto const& name : *names) text += name.size();
        REQUIRE(facts->exports.size() + facts->needed.size() <= 2 * plugin::detail::most_names);
        REQUIRE(text <= 2 * plugin::detail::most_names * file.size());
    }
    if (!facts || !manifest) return 0;
    if (!acceptable(*manifest)) return 1;
    described_policy const described(*manifest);
    REQUIRE(described.about().id.size() < sizeof manifest->id);
    auto const needs = needs_of(*manifest);
    REQUIRE(needs);
    for (auto const& column : *needs) REQUIRE(column.name.size() <= longest_column_name);
    return 2;
}

}  // namespace

TEST_CASE("20000 damaged plugin files are read within their bounds", "[plugin][elf]") {
    last_page const file(contents("counter.so"));
    auto const whole = file.bytes();
    REQUIRE(read_all(whole) == 2);
    auto const places = interesting(whole);
    std::mt19937_64 rng(11);
    std::uint64_t const odd[] = {0,          1,          whole.size(), whole.size() - 1, ~0ULL,
                                 ~0ULL - 23, 1ULL << 63, 0x7FFF'FFFF,  0xFFFF'FFFF,      64};
    int outcomes[3] = {};
    for (int round = 0; round < 20'000; ++round) {
        struct undo {
            std::uint64_t at;
            std::uint64_t before;
        };
        std::vector<undo> undone;
        for (std::uint64_t left = 1 + rng() % 3; left > 0; --left) {
            auto const& r = places[rng() % places.size()];
            std::uint64_t const at =
                std::min(r.from + (rng() % 2 == 0 ? rng() % r.size : rng() % r.size / 8 * 8), whole.size() - 8);
            std::uint64_t const value = rng() % 2 == 0 ? rng() : odd[rng() % std::size(odd)],
                                bytes = std::uint64_t{1} << rng() % 4;
            undone.push_back({at, 0});
            std::memcpy(&undone.back().before, &whole[at], 8);
            std::memcpy(&whole[at], &value, bytes);
        }
        std::size_t const size = rng() % 10 == 0 ? rng() % whole.size() : whole.size();
        ++outcomes[read_all(whole.first(size))];
        for (std::size_t i = undone.size(); i-- > 0;) std::memcpy(&whole[undone[i].at], &undone[i].before, 8);
    }
    CHECK(read_all(whole) == 2);  // all was put back
    for (int const reached : outcomes) CHECK(reached > 50);
}

TEST_CASE("names that are most of the file are not kept for every symbol", "[plugin][elf]") {
    constexpr std::size_t symbols = 20'000, text = 1U << 20;
    std::string file(sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr) + symbols * sizeof(Elf64_Sym) + text, 'n');
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = plugin::detail::this_machine;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    Elf64_Shdr sections[3] = {};
    std::size_t const first = sizeof header + sizeof sections;
    sections[1].sh_type = SHT_DYNSYM;
    sections[1].sh_offset = first;
    sections[1].sh_size = symbols * sizeof(Elf64_Sym);
    sections[1].sh_link = 2;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = first + sections[1].sh_size;
    sections[2].sh_size = text;
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, sections, sizeof sections);
    for (std::size_t i = 0; i < symbols; ++i) {
        Elf64_Sym symbol{};
        symbol.st_name = 0;
        symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
        symbol.st_shndx = 1;
        std::memcpy(file.data() + first + i * sizeof symbol, &symbol, sizeof symbol);
    }
    file.back() = '\0';
    auto const facts = inspect(std::as_bytes(std::span(file)));
    REQUIRE(facts);
    std::size_t kept = 0;
    for (auto const& name : facts->exports) kept += name.size();
    CHECK(facts->exports.size() == plugin::detail::most_names);
    CHECK(kept <= file.size());
}

namespace {

/// Reads all members. Each name and each value is a part of the text.
void require_members_within(flat_json& json, std::string_view text) {
    std::size_t members = 0;
    for (json_member m; json.next(m); ++members)
        for (auto const part : {m.name, m.value})
            REQUIRE((part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size()));
    REQUIRE(members <= text.size());
}

}  // namespace

TEST_CASE("damaged parameters are in their ranges, or refused with a sentence", "[plugin][parameters]") {
    constexpr std::string_view pieces[] = {"\"",
                                           "{",
                                           "}",
                                           ":",
                                           ",",
                                           "1e999",
                                           "-1",
                                           "nan",
                                           "true",
                                           "0.5",
                                           "\\",
                                           "\"alpha\"",
                                           "\"scenario\":\"AO\"",
                                           " ",
                                           "\n",
                                           "99999999999999999999"};
    std::string const seeds[] = {"{\"scenario\":\"AO\",\"alpha\":0.75}",
                                 "{\"dead_band\":0.01,\"alpha\":1,\"scenario\":\"NA\"}", "{ }", "{\"alpha\":1e-3}"};
    support::mutations change(5, pieces);
    int good = 0, bad = 0;
    for (int round = 0; round < 60'000; ++round) {
        std::string text = seeds[change.below(std::size(seeds))];
        change.damage(text);
        flat_json json(text);
        require_members_within(json, text);
        policies::tradl_parameters given;
        ration::text<255> wrong;
        if (parameter_access<policies::tradl_parameters>::read(text, given, wrong)) {
            REQUIRE((json.wrong() == nullptr && given.alpha >= 0 && given.alpha <= 1 && given.dead_band >= 0 &&
                     given.dead_band <= 1));
            ++good;
        } else {
            REQUIRE(wrong.view().size() > 12);
            ++bad;
        }
    }
    CHECK(good > 2000);
    CHECK(bad > 2000);
}
