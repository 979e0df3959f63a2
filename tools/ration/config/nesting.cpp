// SPDX-License-Identifier: BSL-1.0
#include "config/nesting.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ration::program {
namespace {

/// Follows brackets and dots outside of strings and comments. A text that is not TOML is followed up to its first
/// mistake, where the TOML library stops reading.
class nesting_scanner {
    std::string_view rest_;
    position at_{1, 1};
    std::size_t open_ = 0;   // brackets
    std::size_t parts_ = 1;  // of the key, or of the number

public:
    explicit nesting_scanner(std::string_view text) : rest_(text) {}

    [[nodiscard]] result<void, diagnostic> scan() {
        while (!rest_.empty()) {
            switch (rest_.front()) {
                case '"':
                case '\'': skip_string(rest_.front()); continue;
                case '#': skip(std::min(rest_.find('\n'), rest_.size())); continue;
                case '[':
                case '{':
                    ++open_;
                    parts_ = 1;
                    break;
                case ']':
                case '}':
                    open_ -= open_ > 0 ? 1 : 0;
                    parts_ = 1;
                    break;
                case '.': ++parts_; break;
                case '=':
                case ',':
                case '\n': parts_ = 1; break;
                default: break;
            }
            if (parts_ > most_key_parts)
                return refusal(
                    fmt::format("this key has more than {} parts; write it with fewer dots", most_key_parts));
            if (open_ > most_open_brackets)
                return refusal(
                    fmt::format("values are nested deeper than {} brackets; write them flatter", most_open_brackets));
            skip(1);
        }
        return {};
    }

private:
    [[nodiscard]] diagnostic refusal(std::string text) const {
        return {.line = at_.line, .column = at_.column, .text = std::move(text)};
    }

    /// Moves on; columns count characters, as those of the TOML library do.
    void skip(std::size_t bytes) {
        for (char const c : rest_.substr(0, bytes))
            if (c == '\n') {
                ++at_.line;
                at_.column = 1;
            } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
                ++at_.column;
        rest_.remove_prefix(std::min(bytes, rest_.size()));
    }

    [[nodiscard]] std::size_t quotes_in_front(char quote) const noexcept {
        return std::min(rest_.find_first_not_of(quote), rest_.size());
    }

    void skip_string(char quote) {
        std::size_t const quotes = quotes_in_front(quote);
        bool const several_lines = quotes >= 3;
        if (quotes == 2) return skip(2);
        skip(several_lines ? 3 : 1);
        while (!rest_.empty()) {
            if (!several_lines && rest_.front() == '\n') return;  // a mistake: it is not closed
            std::size_t const closing = quotes_in_front(quote);
            if (closing >= (several_lines ? 3U : 1U))
                return skip(several_lines ? std::min<std::size_t>(closing, 5) : 1);
            bool const escapes = quote == '"' && rest_.front() == '\\';
            skip(escapes ? 2 : std::max<std::size_t>(closing, 1));
        }
    }
};

}  // namespace

result<void, diagnostic> check_nesting(std::string_view text) { return nesting_scanner(text).scan(); }

}  // namespace ration::program
