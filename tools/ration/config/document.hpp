// SPDX-License-Identifier: BSL-1.0
/// A TOML document as plain data with places, so that one source file alone pays for the TOML library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/diagnostics.hpp"

namespace ration::program {

struct entry;
struct value;
using array = std::vector<value>;
using table = std::vector<entry>;  ///< in the order of the file

/// A date or a time, for which jobs.toml has no use.
struct moment {};

struct value {
    position at;
    std::variant<bool, std::int64_t, double, std::string, array, table, moment> data;
};

struct entry {
    std::string key;
    position key_at;
    value held;
};

/// The kind of a value in words, with its article: "a whole number".
[[nodiscard]] std::string_view kind_of(value const& v) noexcept;

/// A line `"key" = value` for each key, in the order of the keys: the same for two tables that say the same in another
/// order or layout, and only for such.
[[nodiscard]] std::vector<std::string> lines_of(table const& t);

/// The root table. A text that is not TOML has one diagnostic, which names no file.
[[nodiscard]] result<table, diagnostic> parse_document(std::string_view text);

/// Takes a table apart key by key, and lists the keys that no reader asked for.
class table_reader {
    table const& table_;
    std::string where_;
    diagnostics& problems_;
    std::vector<std::string_view> known_;

    static constexpr std::size_t most_problems = 500;

public:
    /// `where` names the table in messages: "[[job]]", "'target'".
    table_reader(table const& from, std::string where, diagnostics& problems)
        : table_(from), where_(std::move(where)), problems_(problems) {}

    /// The value of this key, or nullptr. The key counts as known from now on.
    [[nodiscard]] value const* take(std::string_view key);

    /// The value if it is a T; another kind of value is a problem: "'key' must be <wanted>, not a whole number".
    template <class T>
    [[nodiscard]] T const* take(std::string_view key, std::string_view wanted) {
        value const* const v = take(key);
        if (v == nullptr) return nullptr;
        auto const* const typed = std::get_if<T>(&v->data);
        if (typed == nullptr) wrong_kind(key, *v, wanted);
        return typed;
    }

    /// The same for a number, whole or not.
    [[nodiscard]] std::optional<double> take_number(std::string_view key, std::string_view wanted);

    /// The place of a key's value; {} if there is none.
    [[nodiscard]] position place_of(std::string_view key) const noexcept;

    /// Calls `visit` for each entry that no reader has asked for, until there are more problems than people read: users
    /// of a service send files, too.
    template <class Visit>
    void each_unknown(Visit visit) const {
        for (auto const& e : table_)
            if (!is_known(e.key) && problems_.size() < most_problems) visit(e);
    }
    /// Makes a problem of an entry that no reader has asked for; `also_known` are candidates besides the keys asked
    /// for.
    void report_unknown(entry const& e, std::vector<std::string_view> const& also_known = {}) const;
    void report_all_unknown() const {
        each_unknown([this](entry const& e) { report_unknown(e); });
    }

    void wrong_kind(std::string_view key, value const& v, std::string_view wanted) const;

private:
    [[nodiscard]] bool is_known(std::string_view key) const noexcept;
};

}  // namespace ration::program
