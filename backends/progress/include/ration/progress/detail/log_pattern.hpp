// SPDX-License-Identifier: BSL-1.0
/// Regular expressions with named groups, based on std::regex, which has none. A search costs a bounded number of
/// steps, whatever the pattern and the line are (docs/adr/0049-a-line-has-a-budget-of-steps.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 with -fsanitize=address believes that <regex> reads what it has not set; the fault is in neither.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <regex>
#pragma GCC diagnostic pop
#else
#include <regex>
#endif

#include <ration/progress/message.hpp>
#include <ration/result.hpp>

namespace ration::progress::detail {

/// A group: its name, its index in the match, and the character that the pattern names after it.
struct named_group {
    std::string name;
    std::size_t index = 0;
    std::string expected_after{};
};

/// A pattern without names.
struct translation {
    std::string pattern;              ///< plain groups instead of named ones
    std::vector<named_group> groups;  ///< in the order of their opening brackets
    std::size_t states = 0;
};

/// The length of a bracket expression: from '[' to its ']'. Brackets inside do not open groups.
[[nodiscard]] inline std::size_t class_length(std::string_view pattern) noexcept {
    std::size_t at = 1;
    while (at < pattern.size() && pattern[at] != ']')
        if (pattern.substr(at, 2) == "[:")
            at = std::min(pattern.find(":]", at), pattern.size() - 2) + 2;
        else
            at += pattern[at] == '\\' ? 2 : 1;
    return std::min(at + 1, pattern.size());
}

/// The length of "(?<", or of Python's "(?P<", at the start of the pattern; 0 if there is none. A
/// look-behind is neither.
[[nodiscard]] inline std::size_t opening_length(std::string_view pattern) noexcept {
    std::size_t const length = pattern.starts_with("(?<") ? 3 : pattern.starts_with("(?P<") ? 4 : 0;
    auto const next = length == 3 && pattern.size() > 3 ? pattern[3] : ' ';
    return next == '=' || next == '!' ? 0 : length;
}

/// True for a word of letters, digits and '_' that does not start with a digit.
[[nodiscard]] inline bool is_group_name(std::string_view name) noexcept {
    auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && name.size() <= max_word && letter(name.front()) &&
           std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// An error about a pattern.
[[nodiscard]] inline error bad_pattern(std::string_view pattern, char const* remedy) noexcept {
    auto out = bad_message(pattern, remedy);
    out.operation = "read a log pattern";
    return out;
}

inline constexpr std::size_t max_bound = 255;  ///< of a repetition; RE_DUP_MAX of POSIX

/// The largest bound of the repetition at the start of the pattern, such as 5 of "{2,5}". Bounds
/// above `max_bound` become `max_bound` + 1, since std::regex overflows on numbers beyond 63 bits.
[[nodiscard]] inline std::size_t greatest_bound(std::string_view pattern) noexcept {
    std::size_t greatest = 0;
    std::size_t bound = 0;
    for (char const c : pattern.substr(1, pattern.find('}'))) {
        bool const digit = c >= '0' && c <= '9';
        bound = digit ? std::min(10 * bound + static_cast<std::size_t>(c - '0'), max_bound + 1) : 0;
        greatest = std::max(greatest, bound);
    }
    return greatest;
}

/// Counts the states of a pattern with its repetitions expanded, as std::regex stores them. A search
/// costs O(states) for each byte of a line, and nested bounds multiply: "(a{255}){255}" has 65 280.
class expanded_size {
public:
    static constexpr std::size_t limit = 2000;  ///< states

    /// Counts the atom, bracket or repetition at the start of the pattern.
    void add(std::string_view pattern) {
        switch (pattern.front()) {
            case '(': open_group(); break;
            case ')': close_group(); break;
            case '{':
                if (pattern.substr(0, pattern.find('}')).find(',') != pattern.npos) add_choice();
                repeat(std::max<std::size_t>(greatest_bound(pattern), 1));
                break;
            case '?':
            case '*':
            case '+': add_choice(); break;
            default: append(1);
        }
    }
    /// Starts a group.
    void open_group() {
        enclosing_.push_back(current_);
        current_ = {};
    }
    /// True if the pattern is too large.
    [[nodiscard]] bool exceeds_limit() const noexcept { return current_.total > limit; }
    /// The states up to now.
    [[nodiscard]] std::size_t states() const noexcept { return current_.total; }

private:
    /// Sizes within one level of brackets.
    struct level {
        std::size_t total = 0;  ///< states since the bracket opened
        std::size_t last = 0;   ///< of these, in the last atom or group
    };

    [[nodiscard]] static std::size_t bounded(std::size_t size) noexcept { return std::min(size, limit + 1); }

    void append(std::size_t size) noexcept { current_ = {bounded(current_.total + size), size}; }
    void close_group() noexcept {
        if (enclosing_.empty()) return;  // std::regex refuses such a pattern later
        auto const size = current_.total;
        current_ = enclosing_.back();
        enclosing_.pop_back();
        append(size + 1);
    }
    /// An atom that may be absent or come again has a state for the choice.
    void add_choice() noexcept { current_ = {bounded(current_.total + 1), current_.last + 1}; }
    void repeat(std::size_t times) noexcept {
        auto const repeated = bounded(current_.last * times);
        current_.total = bounded(current_.total - current_.last + repeated);
        current_.last = repeated;
    }

    level current_;
    std::vector<level> enclosing_;
};

/// The length of the escape, class, bracket or character at the start of the pattern.
[[nodiscard]] inline std::size_t atom_length(std::string_view pattern) noexcept {
    if (pattern.front() == '[') return class_length(pattern);
    if (pattern.starts_with("(?:")) return 3;
    return pattern.front() == '\\' ? 2 : 1;
}

/// The polynomial executor of std::regex has no back-references, and its compiler overflows on a long number in one.
[[nodiscard]] inline bool is_back_reference(std::string_view pattern) noexcept {
    return pattern.size() > 1 && pattern[0] == '\\' && pattern[1] >= '1' && pattern[1] <= '9';
}

/// The character that a pattern names after a group, as ',' in "(?<step>\d+)," and '%' in "(?<accuracy>\d+)[% ]?";
/// empty if it accepts any. A comma that may be absent can be within a number. `inside`: the pattern from the first
/// character of the group on. O(pattern).
[[nodiscard]] inline std::string_view expected_after_group(std::string_view inside) noexcept {
    auto const skip = [&](std::size_t count) { inside.remove_prefix(std::min(count, inside.size())); };
    for (std::size_t depth = 1; !inside.empty() && depth > 0; skip(atom_length(inside))) {
        depth += inside.front() == '(' ? 1 : 0;
        depth -= inside.front() == ')' ? 1 : 0;
    }
    while (!inside.empty() && std::string_view("()?*+").find(inside.front()) != inside.npos) skip(atom_length(inside));
    auto const atom = inside.substr(0, inside.empty() ? 0 : atom_length(inside));
    skip(atom.size());
    if (atom.starts_with("[^")) return {};
    if (atom.find('%') != atom.npos) return "%";
    bool const is_optional = !inside.empty() && std::string_view("?*{").find(inside.front()) != inside.npos;
    bool const is_literal = atom == "," || atom == "\\," || atom == "\\." || atom == "#" || atom == "\\#";
    return is_literal && !is_optional ? atom.substr(atom.size() - 1) : std::string_view();
}

inline constexpr char const* not_ecmascript =
    "it is not an ECMAScript regular expression without back-references or look-behind";

/// Removes the names from a pattern, and records the index of each group. Errors: `invalid_value`.
[[nodiscard]] inline result<translation> translate(std::string_view const pattern) noexcept {
    translation out;
    expanded_size atoms;
    std::size_t opened = 0;
    for (std::size_t at = 0; at < pattern.size();) {
        auto const rest = pattern.substr(at);
        auto length = atom_length(rest);
        if (auto const prefix = opening_length(rest); prefix != 0) {
            auto const name = rest.substr(prefix, rest.find('>') - prefix);
            if (!is_group_name(name) || rest.find('>') == rest.npos)
                return bad_pattern(pattern, "a group's name is a word of letters, digits and '_', as in (?<loss>...)");
            if (std::ranges::find(out.groups, name, &named_group::name) != out.groups.end())
                return bad_pattern(pattern, "two groups have one name");
            at += prefix + name.size() + 1;
            out.groups.push_back({std::string(name), ++opened, std::string(expected_after_group(pattern.substr(at)))});
            out.pattern += '(';
            atoms.open_group();
            continue;
        }
        if (is_back_reference(rest)) return bad_pattern(pattern, not_ecmascript);
        // Tested before std::regex sees the pattern, which would expand the repetition.
        if (rest.front() == '{' && greatest_bound(rest) > max_bound)
            return bad_pattern(pattern, "a repetition counts to 255 at most");
        // Plain groups count too, since std::regex numbers all groups.
        if (rest.front() == '(' && !rest.starts_with("(?")) ++opened;
        atoms.add(rest);
        if (atoms.exceeds_limit())
            return bad_pattern(pattern, "its repetitions multiply to more than 2000 characters; use smaller bounds");
        out.pattern += rest.substr(0, length);
        at += length;
    }
    out.states = atoms.states();
    return out;
}

/// The steps that the searches of one line may take.
class step_budget {
public:
    /// Enough for 24 states at each byte of the longest line. A step takes about 0.1 us.
    static constexpr std::size_t most = 100'000;

    /// Takes steps away, or all that are left.
    void spend(std::size_t steps) noexcept { left_ -= std::min(left_, steps); }
    [[nodiscard]] bool exhausted() const noexcept { return left_ == 0; }

private:
    std::size_t left_ = most;
};

/// The costs of a search, in steps.
struct step_costs {
    std::size_t byte = 1;        ///< to move on, past the states that read no byte
    std::size_t comparison = 1;  ///< of a byte with an atom, whose state has a copy of all groups
};

/// A position in a line that pays for each movement and comparison of std::regex, which has no limit itself. All
/// positions are the end of the line when the budget is exhausted: the search returns, and its outcome is void.
class paid_position {
public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = char const*;
    using reference = char const&;

    paid_position() noexcept = default;
    paid_position(char const* at, step_budget& budget, step_costs const& costs) noexcept
        : at_(at), budget_(&budget), costs_(&costs) {}

    reference operator*() const noexcept {
        budget_->spend(costs_->comparison);
        return *at_;
    }
    paid_position& operator++() noexcept {
        budget_->spend(costs_->byte);
        ++at_;
        return *this;
    }
    paid_position operator++(int) noexcept {
        auto const before = *this;
        ++*this;
        return before;
    }
    paid_position& operator--() noexcept {
        --at_;
        return *this;
    }
    paid_position operator--(int) noexcept { return {at_--, *budget_, *costs_}; }
    friend bool operator==(paid_position const& a, paid_position const& b) noexcept {
        return a.at_ == b.at_ || (a.budget_ != nullptr && a.budget_->exhausted());
    }
    [[nodiscard]] char const* base() const noexcept { return at_; }

private:
    char const* at_ = nullptr;
    step_budget* budget_ = nullptr;
    step_costs const* costs_ = nullptr;
};

/// A translated pattern.
class log_pattern {
public:
    /// The result of a search.
    using match = std::match_results<paid_position>;

    /// Compiles a pattern. Error: `invalid_value` with the pattern and the cause.
    [[nodiscard]] static result<log_pattern> make(std::string_view pattern) noexcept {
        if (pattern.size() > 1024) return bad_pattern(pattern, "a pattern has at most 1024 characters");
        auto translated = translate(pattern);
        if (!translated) return translated.failure();
        try {
            // Compiled alone first, so that an extra ')' cannot close the bracket below
            static_cast<void>(std::regex(translated->pattern, flavour));
            return log_pattern(std::move(*translated));
        } catch (std::exception const&) {
            return bad_pattern(pattern, not_ecmascript);
        }
    }

    /// True if a group is a metric, not a counter.
    [[nodiscard]] bool reads_metric() const noexcept {
        return std::ranges::any_of(groups_, [](auto const& g) { return g.name != "step" && g.name != "total"; });
    }

    /// The named groups.
    [[nodiscard]] std::vector<named_group> const& groups() const noexcept { return groups_; }

    /// Searches a line. False if the budget is exhausted, too; `out` is valid as long as the budget and the pattern.
    /// Throws the exceptions of std::regex if memory runs out.
    [[nodiscard]] bool search(std::string_view line, match& out, step_budget& budget) const {
        paid_position const begin(line.data(), budget, costs_);
        paid_position const end(line.data() + line.size(), budget, costs_);
        bool const found = std::regex_search(begin, end, out, expression_, std::regex_constants::match_continuous);
        return found && !budget.exhausted();
    }

    /// The text of a group in a match; empty if it did not match.
    [[nodiscard]] static std::string_view text_of(match const& found, std::size_t index) noexcept {
        auto const& part = found[index];
        return part.matched ? std::string_view(part.first.base(), part.second.base()) : std::string_view();
    }

private:
#ifdef __GLIBCXX__
    // The executor without backtracking: no line can cause exponential time or a stack overflow.
    static constexpr auto flavour = std::regex_constants::ECMAScript | std::regex_constants::__polynomial;
#else
    static constexpr auto flavour = std::regex_constants::ECMAScript;
#endif

    // The prefix "anything, as little as possible" makes the search one pass; a search from each
    // start would be quadratic.
    explicit log_pattern(translation&& from)
        : expression_("[^]*?(?:" + from.pattern + ")", flavour), groups_(std::move(from.groups)),
          costs_{1 + from.states / 16, 1 + expression_.mark_count() / 4} {}

    std::regex expression_;
    std::vector<named_group> groups_;
    step_costs costs_;
};

}  // namespace ration::progress::detail
