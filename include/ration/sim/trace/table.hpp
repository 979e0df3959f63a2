// SPDX-License-Identifier: BSL-1.0
/// Reads a trace that is a table, with one of the layouts of layout.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/diagnostic.hpp>
#include <ration/sim/trace/builder.hpp>
#include <ration/sim/trace/layout.hpp>
#include <ration/sim/trace/quoted.hpp>
#include <ration/sim/trace/scanner.hpp>

namespace ration::sim::trace {

/// Reads the rows of a table, and assigns each column its meaning.
class table_reader {
    layout const& layout_;
    row_scanner rows_;
    std::vector<field> columns_;  // what each column of the file is
    result<void, diagnostic> status_;
    bool first_ = false;  // the current row of the scanner is the first, and has no titles

public:
    /// Both arguments have to outlive the reader.
    table_reader(std::string_view text, layout const& of) : layout_(of), rows_(text, of.separator) {}

    /// Reads the line of titles. Returns false if a column is missing.
    [[nodiscard]] bool begin() {
        if (!rows_.next())
            return refuse_scan() ||
                   refuse("there is nothing in this file; a line of titles and one line for each job are expected");
        auto const titles = rows_.fields();
        for (auto const title : titles) columns_.push_back(meaning(titles, trimmed(title)));
        for (std::size_t i = 0; i < columns_.size(); ++i)
            if (columns_[i] != field::nothing &&
                std::find(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(i), columns_[i]) !=
                    columns_.begin() + static_cast<std::ptrdiff_t>(i))
                return refuse("two columns are called " + quoted(trimmed(titles[i])) + "; keep one");
        if (layout_.untitled && is_row(titles)) {
            for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i] = layout_.columns[i].to;
            return first_ = true;
        }
        for (auto const& c : layout_.columns)
            if (c.needed &&
                std::none_of(titles.begin(), titles.end(), [&](std::string_view t) { return trimmed(t) == c.title; }))
                return refuse("the column " + std::string(c.title) +
                              " is missing; the first line names the columns, separated by " +
                              (layout_.separator == ',' ? "commas" : "tabs"));
        return true;
    }

    /// Reads the next row. Returns false at the end, and after an error.
    [[nodiscard]] bool next(row& into) {
        if (!std::exchange(first_, false) && !rows_.next()) return refuse_scan();
        auto const values = rows_.fields();
        if (values.size() != columns_.size())
            return refuse("this line has " + std::to_string(values.size()) + " columns, and the first line has " +
                          std::to_string(columns_.size()) + "; write as many");
        for (std::size_t i = 0; i < values.size(); ++i) into[columns_[i]] = trimmed(values[i]);
        into.line = rows_.line();
        return true;
    }

    /// Continues with the next lines of the same file, which end with a whole line. They have to outlive the reader, or
    /// the next call.
    void continue_with(std::string_view text) noexcept { rows_.continue_with(text); }

    /// The error; empty text if there was none.
    [[nodiscard]] result<void, diagnostic> const& status() const noexcept { return status_; }
    [[nodiscard]] std::size_t bytes_left() const noexcept { return rows_.bytes_left(); }

private:
    bool refuse(std::string sentence) {
        status_ = diagnostic{.line = rows_.line(), .text = std::move(sentence)};
        return false;
    }
    bool refuse_scan() { return rows_.wrong() != nullptr ? refuse(rows_.wrong()) : false; }

    /// True if this is a row of the layout's columns in their order, and not a line of titles.
    [[nodiscard]] bool is_row(std::span<std::string_view const> values) const noexcept {
        double ignored = 0;
        if (values.size() != layout_.columns.size()) return false;
        for (std::size_t i = 0; i < values.size(); ++i) {
            field const f = layout_.columns[i].to;
            bool const number = f != field::nothing && f != field::name && f != field::model;
            if (number && !values[i].empty() && !to_number(trimmed(values[i]), ignored)) return false;
        }
        return true;
    }

    /// The meaning of a column. If two columns of the file have the same meaning, the later one of the layout is
    /// used.
    [[nodiscard]] field meaning(std::span<std::string_view const> titles, std::string_view title) const {
        field found = field::nothing;
        for (auto const& c : layout_.columns)
            if (c.title == title)
                found = c.to;
            else if (found == c.to && std::any_of(titles.begin(), titles.end(),
                                                  [&](std::string_view t) { return trimmed(t) == c.title; }))
                found = field::nothing;
        return found;
    }
};

/// Reads all jobs of a table. O(text).
[[nodiscard]] inline result<workload, diagnostic> read_table(std::string_view text, layout const& of,
                                                             model_library const& library, std::string name) {
    table_reader table(text, of);
    builder jobs(of, library);
    if (!table.begin()) return table.status().failure();
    row r;
    // The length of the first row gives an estimate of the number of rows.
    std::size_t const bytes = table.bytes_left();
    for (std::size_t count = 0; table.next(r); ++count) {
        if (count == 0) jobs.reserve(bytes / std::max<std::size_t>(bytes - table.bytes_left(), 8) + 16);
        if (!jobs.add(r)) return jobs.failure();
    }
    if (!table.status()) return table.status().failure();
    return jobs.finish(std::move(name));
}

}  // namespace ration::sim::trace
