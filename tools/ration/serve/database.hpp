// SPDX-License-Identifier: BSL-1.0
/// An SQLite file. The implementation is the only source that includes sqlite3.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <ration/result.hpp>

namespace ration::program {

/// Bytes of any value; text of SQLite ends at its first zero byte.
struct sql_bytes {
    std::string content;
};

/// One value of a statement or of a row; the first alternative is NULL.
using sql_value = std::variant<std::monostate, std::int64_t, std::string, sql_bytes>;
using sql_row = std::vector<sql_value>;

/// The whole number of a column that has one; 0 for NULL and for other types.
[[nodiscard]] std::int64_t number_in(sql_value const& value) noexcept;
/// The text or the bytes of a column; empty for NULL and for numbers.
[[nodiscard]] std::string text_in(sql_value value) noexcept;
[[nodiscard]] inline bool is_null(sql_value const& value) noexcept { return value.index() == 0; }

/// One connection, for one thread. Writes are in the write-ahead log and each commit is synchronised
/// (`synchronous = FULL`), so that it survives a loss of power. Another thread may call `execute`, which lets the calls
/// of the first one wait.
///
/// Errors of every call: `unverified` (the file is damaged), `no_capacity` (the disk is full), `busy` (another program
/// writes), `conflict` (a constraint), `denied`, `no_memory`, `io`.
class database {
    class connection;
    std::unique_ptr<connection> connection_;

    explicit database(std::unique_ptr<connection> opened) noexcept;

public:
    enum class access : std::uint8_t { read, write };

    /// `write` creates the file (mode 0600) if it does not exist; `read` returns `not_found` then.
    [[nodiscard]] static result<database> open(std::string const& path, access how);
    database(database&&) noexcept;
    database& operator=(database&&) noexcept;
    ~database();

    /// Calls return `busy` at once where another program writes, instead of waiting up to 5 s for it.
    void never_wait() noexcept;
    /// Performs one statement with these values for its parameters, and returns its rows. Statements are kept prepared.
    [[nodiscard]] result<std::vector<sql_row>> query(std::string const& sql, std::vector<sql_value> const& values = {});
    /// The first number that a query returns, which has a row.
    [[nodiscard]] result<std::int64_t> number(std::string const& sql);
    /// Performs several statements without parameters.
    [[nodiscard]] result<void> execute(std::string const& sql);
    /// The key of the row that was inserted last.
    [[nodiscard]] std::int64_t last_key() const noexcept;
    /// Reads the whole file. Error: `unverified` if it is damaged. O(size of the file).
    [[nodiscard]] result<void> check();
};

}  // namespace ration::program
