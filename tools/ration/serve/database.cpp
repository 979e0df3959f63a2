// SPDX-License-Identifier: BSL-1.0
#include "serve/database.hpp"

#include <cerrno>
#include <fcntl.h>
#include <map>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <ration/process/descriptor.hpp>

namespace ration::program {
namespace {

constexpr int longest_wait_ms = 5000;  // for another writer
constexpr char const* not_yours = "it belongs to another user: repeat this as that user, or name your own by --state";

[[nodiscard]] errc code_of(int status) noexcept {
    switch (status & 0xff) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB: return errc::unverified;
        case SQLITE_FULL: return errc::no_capacity;
        case SQLITE_BUSY:
        case SQLITE_LOCKED: return errc::busy;
        case SQLITE_CONSTRAINT: return errc::conflict;
        case SQLITE_PERM:
        case SQLITE_AUTH:
        case SQLITE_READONLY: return errc::denied;
        case SQLITE_NOMEM: return errc::no_memory;
        default: return errc::io;
    }
}

[[nodiscard]] char const* remedy_for(errc code) noexcept {
    switch (code) {
        case errc::unverified:
            return "the file is damaged: remove it with its files -wal and -shm, and put its backup, .backup, in its place";
        case errc::no_capacity: return "free space on its disk";
        case errc::busy: return "end the other program that writes to it";
        case errc::denied: return "let this user write to the file and its folder";
        case errc::io: return "check its disk";
        default: return "";
    }
}

struct statement_end {
    void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
};
using statement = std::unique_ptr<sqlite3_stmt, statement_end>;

struct handle_end {
    void operator()(sqlite3* handle) const noexcept { ::sqlite3_close_v2(handle); }
};

struct value_binder {
    sqlite3_stmt* to;
    int place;

    void operator()(std::monostate) const { ::sqlite3_bind_null(to, place); }
    void operator()(std::int64_t number) const { ::sqlite3_bind_int64(to, place, number); }
    void operator()(std::string const& text) const {
        ::sqlite3_bind_text64(to, place, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    }
    void operator()(sql_bytes const& bytes) const {
        ::sqlite3_bind_blob64(to, place, bytes.content.data(), bytes.content.size(), SQLITE_STATIC);
    }
};

[[nodiscard]] std::string bytes_of(sqlite3_stmt* of, int column) {
    auto const* const first = static_cast<char const*>(::sqlite3_column_blob(of, column));
    auto const size = static_cast<std::size_t>(::sqlite3_column_bytes(of, column));
    return first == nullptr ? std::string() : std::string(first, size);
}

[[nodiscard]] sql_value value_of(sqlite3_stmt* of, int column) {
    switch (::sqlite3_column_type(of, column)) {
        case SQLITE_INTEGER: return std::int64_t{::sqlite3_column_int64(of, column)};
        case SQLITE_TEXT: return bytes_of(of, column);
        case SQLITE_BLOB: return sql_bytes{bytes_of(of, column)};
        default: return std::monostate{};
    }
}

[[nodiscard]] sql_row row_of(sqlite3_stmt* of) {
    sql_row row;
    int const columns = ::sqlite3_column_count(of);
    for (int column = 0; column < columns; ++column) row.push_back(value_of(of, column));
    return row;
}

/// SQLite would create the file with the mode of the umask, and would follow a link or open a device. Its other files
/// get the mode of this one.
[[nodiscard]] result<void> check_file(std::string const& path, bool make) {
    if (make) {
        process::descriptor const made(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
        if (!made && errno != EEXIST)
            return process::path_error("create", path, errno, "let this user write to the folder");
    }
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0)
        return errno == EACCES ? process::system_error("open", path, errno, not_yours)
                               : process::path_error("open", path, errno, "start ration serve once");
    bool const regular = S_ISREG(found.st_mode);
    if (regular && found.st_uid == ::geteuid()) return {};
    return error{.code = errc::denied,
                 .operation = "open",
                 .subject = std::string_view(path),
                 .remedy = regular ? not_yours : "remove it: it is not a regular file"};
}

}  // namespace

class database::connection {
    std::string path_;
    std::unique_ptr<sqlite3, handle_end> handle_;
    std::map<std::string, statement, std::less<>> prepared_;  // ends before the handle

public:
    connection(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

    [[nodiscard]] sqlite3* get() const noexcept { return handle_.get(); }

    [[nodiscard]] error failure(char const* operation, int status) const {
        auto const code = code_of(status);
        return {.code = code,
                .operation = operation,
                .subject = std::string_view(path_),
                .system = ::sqlite3_system_errno(get()),
                .remedy = remedy_for(code)};
    }

    [[nodiscard]] result<sqlite3_stmt*> prepare(std::string const& sql) {
        if (auto const known = prepared_.find(sql); known != prepared_.end()) return known->second.get();
        sqlite3_stmt* made = nullptr;
        auto const size = static_cast<int>(sql.size());
        if (int const status =
                ::sqlite3_prepare_v3(get(), sql.c_str(), size, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
            status != SQLITE_OK)
            return failure("prepare a statement for", status);
        prepared_.emplace(sql, statement(made));
        return made;
    }
};

std::int64_t number_in(sql_value const& value) noexcept {
    auto const* const number = std::get_if<std::int64_t>(&value);
    return number == nullptr ? 0 : *number;
}

std::string text_in(sql_value value) noexcept {
    if (auto* const text = std::get_if<std::string>(&value)) return std::move(*text);
    if (auto* const bytes = std::get_if<sql_bytes>(&value)) return std::move(bytes->content);
    return {};
}

database::database(std::unique_ptr<connection> opened) noexcept : connection_(std::move(opened)) {}
database::database(database&&) noexcept = default;
database& database::operator=(database&&) noexcept = default;
database::~database() = default;

result<database> database::open(std::string const& path, access how) {
    bool const writes = how == access::write;
    if (auto there = check_file(path, writes); !there) return there.failure();
    sqlite3* handle = nullptr;
    int const flags = SQLITE_OPEN_FULLMUTEX | (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    int const status = ::sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    if (handle == nullptr)
        return error{.code = errc::no_memory, .operation = "open", .subject = std::string_view(path)};
    database opened(std::make_unique<connection>(path, handle));
    if (status != SQLITE_OK) return opened.connection_->failure("open", status);
    ::sqlite3_extended_result_codes(handle, 1);
    ::sqlite3_busy_timeout(handle, longest_wait_ms);
    if (!writes) return opened;
    // Without spills only COMMIT and checkpoints write
    if (auto set = opened.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                                  "PRAGMA trusted_schema = OFF; PRAGMA cache_spill = OFF;");
        !set)
        return set.failure();
    return opened;
}

void database::never_wait() noexcept { ::sqlite3_busy_timeout(connection_->get(), 0); }

result<std::vector<sql_row>> database::query(std::string const& sql, std::vector<sql_value> const& values) {
    auto const prepared = connection_->prepare(sql);
    if (!prepared) return prepared.failure();
    sqlite3_stmt* const statement = *prepared;
    for (std::size_t i = 0; i < values.size(); ++i)
        std::visit(value_binder{statement, static_cast<int>(i) + 1}, values[i]);
    std::vector<sql_row> rows;
    int status = ::sqlite3_step(statement);
    for (; status == SQLITE_ROW; status = ::sqlite3_step(statement)) rows.push_back(row_of(statement));
    ::sqlite3_reset(statement);
    ::sqlite3_clear_bindings(statement);
    if (status != SQLITE_DONE) return connection_->failure("use", status);
    return rows;
}

result<std::int64_t> database::number(std::string const& sql) {
    auto const rows = query(sql);
    if (!rows) return rows.failure();
    return number_in(rows->front().front());
}

result<void> database::execute(std::string const& sql) {
    if (int const status = ::sqlite3_exec(connection_->get(), sql.c_str(), nullptr, nullptr, nullptr);
        status != SQLITE_OK)
        return connection_->failure("use", status);
    return {};
}

std::int64_t database::last_key() const noexcept { return ::sqlite3_last_insert_rowid(connection_->get()); }

result<void> database::check() {
    auto const found = query("PRAGMA quick_check(1)");
    if (!found) return found.failure();
    if (found->size() == 1 && text_in(found->front().front()) == "ok") return {};
    return connection_->failure("check", SQLITE_CORRUPT);
}

}  // namespace ration::program
