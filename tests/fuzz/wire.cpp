// SPDX-License-Identifier: BSL-1.0
// The wire between a controller and a node: bytes in any pieces have the same lines, and a message that is taken is
// written and read again without a change. The first byte of an input is the length of its pieces.
#include "nodes/wire.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/printable.hpp"
#include "nodes/node_name.hpp"
#include "nodes/node_row.hpp"
#include "nodes/wire_lines.hpp"
#include "support.hpp"

namespace program = ration::program;
using fuzz::require;

namespace {

void take_all(program::wire_lines& from, std::vector<std::string>& into) {
    while (auto line = from.next()) into.push_back(line->too_long ? "too long" : std::move(line->text));
}

[[nodiscard]] std::vector<std::string> lines_in_pieces(std::string_view bytes, std::size_t length) {
    program::wire_lines lines;
    std::vector<std::string> out;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(length, bytes.size()))) {
        lines.feed(bytes.substr(0, length));
        take_all(lines, out);
    }
    return out;
}

void require_shown(std::string const& why) { fuzz::require_sentence(program::printable(why)); }

/// What a reader returns of a line, and of the line that it writes for that.
template <class Read>
[[nodiscard]] auto require_stable(Read read, std::string const& line) {
    auto const first = read(line);
    if (!first) {
        require_shown(first.failure());
        return decltype(std::optional(first->body))();
    }
    auto const written = program::to_line(first->head, first->body);
    require(written.find('\n') == written.npos, "a message has two lines");
    auto const second = read(written);
    require(static_cast<bool>(second), "a message that was written is not read");
    require(program::to_line(second->head, second->body) == written, "a message changes when it is read");
    return std::optional(first->body);
}

void require_rows(program::state_report const& state) {
    for (auto const& row : nlohmann::json::parse(state.rows)) {
        auto const read = program::read_node_row(row);
        if (!read) require_shown(read.failure());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
    auto const lines = lines_in_pieces(bytes, std::size_t{1} + data[0]);
    require(lines == lines_in_pieces(bytes, size), "the lines depend on the pieces");
    std::string const long_line(program::most_message_bytes, 'x');
    auto const after = lines_in_pieces(long_line + "\n" + std::string(bytes), std::size_t{1} + data[0]);
    require(after.size() == lines.size() + 1 && std::equal(lines.begin(), lines.end(), after.begin() + 1),
            "a line of the full length changes the next ones");
    for (auto const& line : lines) {
        static_cast<void>(program::is_hello(line));
        auto const order = require_stable(program::read_order, line);
        if (auto const* const hello = order ? std::get_if<program::hello_order>(&*order) : nullptr;
            hello != nullptr && hello->version == program::wire_version)
            require(program::is_node_name(hello->node), "the name of a node is not one");
        auto const report = require_stable(program::read_report, line);
        if (auto const* const state = report ? std::get_if<program::state_report>(&*report) : nullptr)
            require_rows(*state);
    }
    return 0;
}
