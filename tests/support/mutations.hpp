// SPDX-License-Identifier: BSL-1.0
/// Seeded damage to texts, for parsers of what comes from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace support {

/// The same texts for the same seed, with every standard library.
class mutations {
    std::mt19937 rng_;
    std::span<std::string_view const> pieces_;

public:
    /// `pieces` are what the format under test is made of; they must outlive this.
    mutations(std::uint32_t seed, std::span<std::string_view const> pieces) : rng_(seed), pieces_(pieces) {}

    [[nodiscard]] std::size_t below(std::size_t bound) { return static_cast<std::size_t>(rng_() % bound); }

    /// One to three times: a piece put in, some characters taken out, one changed, a part repeated, or the end cut off.
    void damage(std::string& text) {
        for (std::size_t left = 1 + below(3); left > 0; --left) {
            std::size_t const at = below(text.size() + 1);
            switch (below(8)) {
                case 0:
                case 1:
                case 2: text.insert(at, pieces_[below(pieces_.size())]); break;
                case 3: text.erase(at, 1 + below(8)); break;
                case 4: text.replace(at, text.empty() ? 0 : 1 + below(4), pieces_[below(pieces_.size())]); break;
                case 5:
                    if (at < text.size()) text[at] = static_cast<char>(rng_());
                    break;
                case 6: text.insert(at, text.substr(at, below(40))); break;
                default:
                    if (below(8) == 0) text.resize(at);
                    break;
            }
        }
    }
};

}  // namespace support
