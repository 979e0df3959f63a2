// SPDX-License-Identifier: BSL-1.0
/// Reads measured profiles: the three files of bench/data/pollux. The README there defines the
/// columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/diagnostic.hpp>
#include <ration/sim/model_library.hpp>
#include <ration/sim/profile_model.hpp>
#include <ration/sim/trace/read.hpp>
#include <ration/sim/trace/scanner.hpp>

namespace ration::sim {

/// The texts of the three files.
struct profile_texts {
    std::string_view applications, step_times, gradients;
};

/// Options of profiles.
struct profile_options {
    double interference = 0;                        ///< `profile::interference`, from 0 to 1
    std::vector<std::int64_t> devices_per_node{4};  ///< node sizes for which the scaling is computed in advance
};

namespace detail {

/// Reads the rows of one file. All columns have to be present, in this order; all but the first and
/// the spread are numbers.
template <std::size_t Columns>
class profile_rows {
    trace::row_scanner rows_;
    std::string_view titles_;
    char const* file_;
    result<void, diagnostic> status_;

public:
    std::string_view name;                 ///< first column
    std::array<double, Columns> number{};  ///< columns by index; 0 for the first one, and for an empty spread

    /// `titles` is the expected first line, and `file` is the name for messages.
    profile_rows(std::string_view text, std::string_view titles, char const* file) noexcept
        : rows_(text, ','), titles_(titles), file_(file) {}

    /// The error; empty text if there was none.
    [[nodiscard]] result<void, diagnostic> const& status() const noexcept { return status_; }
    bool refuse(std::string_view sentence) {
        std::string const at = rows_.line() > 0 ? ':' + std::to_string(rows_.line()) : std::string();
        status_ = diagnostic{.text = file_ + at + ": " + std::string(sentence)};
        return false;
    }

    /// Reads and validates the first line.
    [[nodiscard]] bool begin() {
        if (!rows_.next()) return refuse("there is nothing in this file; run bench/data/pollux/convert.py again");
        std::string joined;
        for (auto const title : rows_.fields())
            joined.append(joined.empty() ? 0U : 1U, ',').append(trace::trimmed(title));
        return joined == titles_ || refuse("the columns have to be " + std::string(titles_));
    }

    /// Reads a row; numbers are from 0 to 1e300. Returns false at the end, and after an error.
    [[nodiscard]] bool next() {
        if (!rows_.next()) return rows_.wrong() == nullptr ? false : refuse(rows_.wrong());
        auto const fields = rows_.fields();
        if (fields.size() != Columns)
            return refuse("this line has " + std::to_string(fields.size()) + " columns; write " +
                          std::to_string(Columns));
        name = fields[0];
        for (std::size_t i = 1; i < Columns; ++i) {
            number[i] = 0;
            if (fields[i].empty() && i == spread) continue;
            if (!trace::to_number(fields[i], number[i]) || number[i] < 0 || number[i] > 1e300)
                return refuse(trace::quoted(fields[i]) + " is not a number from 0 to 1e300");
        }
        return true;
    }

private:
    static constexpr std::size_t spread = Columns == 7 ? 3 : Columns;  // of step_times.csv
};

/// A profile that is being read.
struct unfinished_profile {
    named_model as;
    profile of;
};

/// The profile with this name; nullptr if there is none yet.
[[nodiscard]] inline unfinished_profile* find_profile(std::vector<unfinished_profile>& all,
                                                      std::string_view name) noexcept {
    for (auto& one : all)
        if (one.as.name == name) return &one;
    return nullptr;
}

/// Reads applications.csv.
[[nodiscard]] inline result<void, diagnostic> read_applications(std::string_view text, profile_options const& options,
                                                                std::vector<unfinished_profile>& into) {
    profile_rows<8> rows(
        text,
        "application,initial_batch,max_batch,min_local_batch,max_local_batch,most_devices,fixed_batch,restart_cost",
        "applications.csv");
    for (bool more = rows.begin(); more && (more = rows.next());) {
        auto const& n = rows.number;
        bool const right = n[1] >= 1 && n[2] >= n[1] && n[2] <= 1e12 && n[3] >= 1 && n[4] >= n[3] && n[5] >= 1 &&
                           n[5] <= profile_model::most_devices;
        if (!right || rows.name.empty() || find_profile(into, rows.name) != nullptr) {
            rows.refuse(
                "an application has a unique name, 1 <= initial_batch <= max_batch, 1 <= min_local_batch <= max_local_batch and 1 to 64 devices");
            break;
        }
        unfinished_profile made;
        made.as.name = rows.name;
        made.as.usual.least = 1;
        made.as.usual.most = static_cast<std::int64_t>(n[5]);
        made.as.usual.restart_cost = n[7];
        made.of.initial_batch = n[1];
        made.of.max_batch = n[2];
        made.of.min_local_batch = n[3];
        made.of.max_local_batch = n[4];
        made.of.fixed_batch = n[6] != 0;
        made.of.interference = options.interference;
        into.push_back(std::move(made));
    }
    return rows.status();
}

/// Reads step_times.csv into the profiles.
[[nodiscard]] inline result<void, diagnostic> read_step_times(std::string_view text,
                                                              std::vector<unfinished_profile>& into) {
    profile_rows<7> rows(text, "application,nodes,devices,spread,local_batch,step_time,sync_time", "step_times.csv");
    for (bool more = rows.begin(); more && (more = rows.next());) {
        auto const& n = rows.number;
        unfinished_profile* const found = find_profile(into, rows.name);
        bool const right = found != nullptr && n[1] >= 1 && n[2] >= n[1] && n[2] <= 1e6 && n[3] < 1e5 && n[5] >= 1e-9 &&
                           n[5] <= 1e9 && n[6] <= n[5];
        if (!right) {
            rows.refuse(
                "a row has an application of applications.csv, 1 <= nodes <= devices <= 1000000, a step_time from 1e-9 to 1e9, and 0 <= sync_time <= step_time");
            break;
        }
        step_curve& curve =
            n[3] > 0 ? found->of.by_spread[static_cast<std::uint64_t>(n[3])]
                     : found->of.by_count[{static_cast<std::int64_t>(n[1]), static_cast<std::int64_t>(n[2])}];
        if (!curve.batch.empty() && curve.batch.back() >= n[4]) {
            rows.refuse("the local batches of one placement have to ascend");
            break;
        }
        curve.batch.push_back(n[4]);
        curve.step.push_back(n[5]);
        curve.sync.push_back(n[6]);
    }
    return rows.status();
}

/// Reads gradients.csv into the profiles. The rows of an application are a table of progress by
/// batch.
[[nodiscard]] inline result<void, diagnostic> read_gradients(std::string_view text,
                                                             std::vector<unfinished_profile>& into) {
    profile_rows<5> rows(text, "application,progress,batch,grad_sqr,grad_var", "gradients.csv");
    for (bool more = rows.begin(); more && (more = rows.next());) {
        auto const& n = rows.number;
        unfinished_profile* const found = find_profile(into, rows.name);
        bool right = found != nullptr && n[1] > 0 && n[3] + n[4] > 0 && n[3] + n[4] < 1e300;
        if (right) {
            profile& of = found->of;
            std::size_t const column = of.batches.empty() ? 0 : of.square.size() % of.batches.size();
            bool const first_row = of.ends.size() <= 1 && (of.ends.empty() || of.ends[0] == n[1]);
            if (first_row) {
                right = of.batches.empty() || n[2] > of.batches.back();
                of.batches.push_back(n[2]);
                if (of.ends.empty()) of.ends.push_back(n[1]);
            } else {
                right = of.batches[column] == n[2] && (column == 0 ? n[1] > of.ends.back() : n[1] == of.ends.back());
                if (column == 0) of.ends.push_back(n[1]);
            }
            of.square.push_back(n[3]);
            of.variance.push_back(n[4]);
        }
        if (!right) {
            rows.refuse(
                "for each application progress ascends, with the same ascending batches each time, and statistics above 0");
            break;
        }
    }
    return rows.status();
}

/// True if a profile has all tables, and statistics for its smallest and its largest batch.
[[nodiscard]] inline bool is_complete(profile const& of) noexcept {
    return !of.by_count.empty() && !of.ends.empty() && of.square.size() == of.ends.size() * of.batches.size() &&
           of.batches.front() == of.initial_batch && of.batches.back() == of.max_batch;
}

}  // namespace detail

/// The applications as models that traces can name. The error names file and line. O(text), and
/// some milliseconds for each application.
[[nodiscard]] inline result<model_library, diagnostic> read_profiles(profile_texts const& texts,
                                                                     profile_options const& options = {}) {
    std::vector<detail::unfinished_profile> all;
    for (auto const& read :
         {detail::read_applications(texts.applications, options, all), detail::read_step_times(texts.step_times, all),
          detail::read_gradients(texts.gradients, all)})
        if (!read) return read.failure();
    model_library library;
    for (auto& one : all) {
        if (!detail::is_complete(one.of))
            return diagnostic{.text = "applications.csv: " + one.as.name +
                                      " has no step times, or no statistics from its initial to its largest batch"};
        auto model = std::make_shared<profile_model>(std::move(one.of), options.devices_per_node);
        one.as.usual.length = model->length();
        one.as.model = std::move(model);
        library.push_back(std::move(one.as));
    }
    return library;
}

/// Reads the three files of a folder.
[[nodiscard]] inline result<model_library, diagnostic> load_profiles(std::string const& folder,
                                                                     profile_options const& options = {}) {
    std::array<std::string, 3> texts;
    constexpr std::array<char const*, 3> names{"applications.csv", "step_times.csv", "gradients.csv"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto read = trace::contents((folder + '/' + names[i]).c_str());
        if (!read) return diagnostic{.file = folder, .text = std::string(names[i]) + ": " + read.failure().text};
        texts[i] = std::move(*read);
    }
    auto read = read_profiles({texts[0], texts[1], texts[2]}, options);
    if (!read) return in_file(folder, read.failure());
    return read;
}

}  // namespace ration::sim
