// SPDX-License-Identifier: BSL-1.0
#include "serve/batch_script.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <sstream>
#include <utility>

namespace ration::program {
namespace {

[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view text) {
    std::int64_t out = 0;
    auto const* const end = text.data() + text.size();
    auto const read = std::from_chars(text.data(), end, out);
    return read.ec == std::errc() && read.ptr == end && out >= 0 ? std::optional(out) : std::nullopt;
}

[[nodiscard]] std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> out(1);
    for (char const c : text) c == at ? static_cast<void>(out.emplace_back()) : out.back().push_back(c);
    return out;
}

/// Of "30", "30:00", "8:00:00", "2-12", "2-12:30" or "2-12:30:00", in seconds.
[[nodiscard]] std::optional<std::int64_t> seconds_in(std::string_view text) {
    auto const dash = text.find('-');
    bool const has_days = dash != text.npos;
    auto const days = has_days ? number_in(text.substr(0, dash)) : std::optional<std::int64_t>(0);
    auto const parts = split(text.substr(has_days ? dash + 1 : 0), ':');
    // The unit of the first part: hours behind days, minutes alone or before seconds
    std::int64_t unit = has_days || parts.size() == 3 ? 3600 : 60;
    if (!days || *days > 365 || parts.size() > 3) return std::nullopt;
    std::int64_t out = *days * 86'400;
    for (auto const& part : parts) {
        auto const count = number_in(part);
        if (!count || *count > 1'000'000) return std::nullopt;
        out += *count * unit;
        unit /= 60;
    }
    return out;
}

/// Of "gpu", "gpu:2" or "gpu:a100:2".
[[nodiscard]] std::optional<std::int64_t> gpus_in(std::string_view gres) {
    auto const parts = split(gres, ':');
    if (parts.front() != "gpu" || parts.size() > 3) return std::nullopt;
    return parts.size() == 1 ? std::optional<std::int64_t>(1) : number_in(parts.back());
}

/// Of "4G" or "4096", which is in MiB.
[[nodiscard]] std::string memory_in(std::string_view text) {
    constexpr std::string_view units = "KMGT";
    auto const unit = text.empty() ? text.npos : units.find(text.back());
    auto const count = number_in(unit == text.npos ? text : text.substr(0, text.size() - 1));
    return count && *count > 0 ? fmt::format("{}{}iB", *count, units[unit == text.npos ? 1 : unit]) : "";
}

class option_reader {
    batch_script& into_;

public:
    explicit option_reader(batch_script& into) : into_(into) {}

    /// Whether the option has an equivalent with this value.
    [[nodiscard]] bool take(std::string_view name, std::string const& value) {
        if (name == "job-name") return take_text(value, into_.name);
        if (name == "chdir") return take_text(value, into_.directory);
        if (name == "mem") return take_text(memory_in(value), into_.memory);
        if (name == "cpus-per-task") return take_number(number_in(value), into_.cpus);
        if (name == "gpus" || name == "gpus-per-node") return take_number(gpus_in("gpu:" + value), into_.gpus);
        if (name == "gres") return take_number(gpus_in(value), into_.gpus);
        if (name == "array") return take_array(value);
        if (name == "dependency") return take_dependency(value);
        if (name != "time") return false;
        auto const limit = seconds_in(value);
        return take_text(limit && *limit > 0 ? fmt::format("{}s", *limit) : "", into_.time_limit);
    }

private:
    [[nodiscard]] static bool take_text(std::string const& value, std::string& into) {
        if (!value.empty()) into = value;
        return !value.empty();
    }
    [[nodiscard]] static bool take_number(std::optional<std::int64_t> value, std::int64_t& into) {
        if (value && *value > 0) into = *value;
        return value && *value > 0;
    }
    [[nodiscard]] bool take_array(std::string const& value) {
        auto const ends = split(value, '-');
        bool const one = ends.size() == 1 && number_in(ends.front()),
                   range = ends.size() == 2 && number_in(ends.front()) && number_in(ends.back());
        if (one || range) into_.array = ends.front() + '-' + ends.back();
        return one || range;
    }
    [[nodiscard]] bool take_dependency(std::string const& value) {
        auto jobs = split(value, ':');
        if (jobs.front() != "afterok" || jobs.size() < 2) return false;
        jobs.erase(jobs.begin());
        if (!std::ranges::all_of(jobs, [](auto const& job) { return number_in(job).has_value(); })) return false;
        std::ranges::copy(jobs, std::back_inserter(into_.after));
        return true;
    }
};

/// "job-name" of "-J".
[[nodiscard]] std::string_view long_name(char letter) {
    constexpr std::array<std::pair<char, std::string_view>, 7> names{{{'J', "job-name"},
                                                                      {'D', "chdir"},
                                                                      {'c', "cpus-per-task"},
                                                                      {'G', "gpus"},
                                                                      {'a', "array"},
                                                                      {'d', "dependency"},
                                                                      {'t', "time"}}};
    auto const* const found = std::ranges::find(names, letter, &std::pair<char, std::string_view>::first);
    return found == names.end() ? std::string_view() : found->second;
}

/// The options of a line, which are "--name=value", "--name value", "-Jvalue" or "-J value".
void read_line(std::string const& line, batch_script& into) {
    std::istringstream words(line);
    std::string word, value;
    while (words >> word && !word.starts_with('#')) {
        bool const is_long = word.starts_with("--");
        auto const end = is_long ? word.find('=') : std::min<std::size_t>(2, word.size());
        auto const option = word.substr(0, end);
        bool const has_value = end != word.npos && end < word.size();
        value = has_value ? word.substr(end + (is_long ? 1 : 0)) : "";
        if (!has_value && words >> std::ws && words.peek() != '-') words >> value;
        std::erase(value, '"');
        auto const name = is_long              ? std::string_view(option).substr(2)
                          : option.size() == 2 ? long_name(option[1])
                                               : std::string_view();
        if (!option_reader(into).take(name, value)) into.unused.push_back(option);
    }
}

}  // namespace

std::optional<batch_script> read_batch_script(std::string_view text) {
    constexpr std::string_view mark = "#SBATCH";
    if (!text.starts_with("#!")) return std::nullopt;
    batch_script out;
    bool has_lines = false;
    std::istringstream lines{std::string(text)};
    std::string line;
    std::getline(lines, line);
    std::istringstream first(line.substr(2));
    for (std::string word; first >> word;) out.interpreter.push_back(word);
    while (std::getline(lines, line) && (line.empty() || line.starts_with('#'))) {
        if (!line.starts_with(mark)) continue;
        has_lines = true;
        read_line(line.substr(mark.size()), out);
    }
    return has_lines && !out.interpreter.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace ration::program
