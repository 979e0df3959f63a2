// SPDX-License-Identifier: BSL-1.0
// Mutations of good messages: a message that the parser accepts must match the grammar, and its parts must be within
// the input.
#include <algorithm>
#include <cctype>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "invariants.hpp"
#include "support/catch.hpp"

namespace {

std::vector<std::string> const seeds{
    "P1 hello e=1 k=0123456789abcdef j=vae r=0 q=1 w=8 t=2 v=c1\n",
    "P1 step e=1 k=0123456789abcdef j=vae r=0 q=2 s=100 c=5 l=0.25 nf=0 x=1000 d=0.01",
    "P1 step e=1 k=0123456789abcdef j=vae r=0 q=3 s=101 c=0 nf=1",
    "P1 eval e=4294967295 k=0123456789abcdef j=vae r=0 q=4 s=100 m=accuracy v=-1e-3",
    "P1 ckpt e=1 k=0123456789abcdef j=vae r=0 q=18446744073709551615 s=100 ok=1",
    "P1 phase e=1 k=0123456789abcdef j=vae r=0 q=6 ph=train",
    "P1 bye e=1 k=0123456789abcdef j=vae r=0 q=7 rc=0 why=done",
    "P1 hb e=1 k=0123456789abcdef j=vae r=0 q=8 later=x",
    "P1 hello e=1 k=0123456789abcdef j=vae r=0 q=9 w=2 g=cpu-0,cpu-3 rx=/run/user/1/ration/rx.77.0",
    "P1 ack e=1 k=0123456789abcdef j=vae r=0 q=10 c=3 ok=1",
    "P1 want e=1 k=0123456789abcdef j=vae r=0 q=11 n=3",
    "P1 ckpt e=1 k=0123456789abcdef j=vae r=0 q=12 s=100 ok=1 d=0.5",
    "P1 step e=1 k=0123456789abcdef j=vae r=0 q=13 s=100 c=1 l=1 b=512",
};

std::vector<std::string> const pieces{"nan", "inf",  "-",   "=",   " ", "\n", "1e999", "0x1p3", "18446744073709551616",
                                      "l=",  " c=1", "P1 ", "\x1b"};

using rng = std::mt19937_64;

std::size_t below(rng& roll, std::size_t bound) { return static_cast<std::size_t>(roll() % bound); }

void mutate(std::string& text, rng& roll) {
    auto const at = below(roll, text.size() + 1);
    switch (below(roll, 6)) {
        case 0: text.insert(at, 1, static_cast<char>(roll() & 0xff)); break;
        case 1: text.insert(at, pieces[below(roll, pieces.size())]); break;
        case 2: text.erase(at, 1 + below(roll, 8)); break;
        case 3:
            text = text.substr(0, at) + seeds[below(roll, seeds.size())].substr(std::min<std::size_t>(at, 40));
            break;
        case 4:
            if (at < text.size()) text[at] = static_cast<char>("0123456789=. -eqslcnfx~"[below(roll, 23)]);
            break;
        default: text.insert(at, text.substr(at, below(roll, 64))); break;
    }
}

/// The grammar once more, letter by letter and without any of the parser's own helpers:
/// "P1" 1*( SP word [ "=" value ] ) [ LF ], where the first word has no value and each other one has a value.
bool is_grammatical(std::string text) {
    if (text.ends_with('\n')) text.pop_back();
    std::istringstream in(text);
    std::string part;
    int at = 0;
    for (; std::getline(in, part, ' '); ++at) {
        auto const equals = part.find('=');
        auto const key = part.substr(0, equals);
        bool const named = !key.empty() && key.size() <= 16 && std::islower(static_cast<unsigned char>(key[0])) != 0 &&
                           key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == key.npos;
        auto const value = equals == part.npos ? "" : part.substr(equals + 1);
        bool const printable = std::ranges::all_of(value, [](char c) { return c > ' ' && c <= '~' && c != '='; });
        bool const right = at == 0   ? part == "P1"
                           : at == 1 ? named && equals == part.npos
                                     : named && !value.empty() && printable;
        if (!right) return false;
    }
    return at >= 3 && !text.ends_with(' ');
}

}  // namespace

TEST_CASE("100000 mutated messages keep what the parser promises", "[message]") {
    rng roll{20240607};
    int accepted = 0;
    for (int round = 0; round < 100'000; ++round) {
        auto text = seeds[below(roll, seeds.size())];
        for (auto left = below(roll, 3); left + 1 != 0; --left) mutate(text, roll);
        auto const fault = progress_test::broken_reservation(text);
        if (!fault.empty()) FAIL(fault << ": " << text);
        bool const reads = static_cast<bool>(ration::progress::parse_message(text));
        accepted += reads ? 1 : 0;
        if (reads && !is_grammatical(text)) FAIL("accepted against the grammar: " << text);
    }
    CHECK(accepted > 10'000);
    CHECK(accepted < 90'000);
}
