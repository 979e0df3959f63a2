// SPDX-License-Identifier: BSL-1.0
#include "serve/job_words.hpp"

#include <charconv>
#include <fmt/format.h>

#include "common/printable.hpp"
#include "serve/definition.hpp"

namespace ration::program {

std::optional<std::int64_t> job_named(std::string const& word) {
    auto const dash = word.rfind('-');
    auto const first = dash == word.npos ? 0 : dash + 1;
    std::int64_t id = 0;
    auto const [end, fault] = std::from_chars(word.data() + first, word.data() + word.size(), id);
    if (fault != std::errc() || end != word.data() + word.size() || id <= 0) return std::nullopt;
    return id;
}

result<std::optional<stored_job>> find_named(job_list& list, std::string const& word) {
    auto const id = job_named(word);
    if (!id) return std::optional<stored_job>();
    auto found = list.find(*id);
    if (!found) return found;
    if (auto const& job = *found; job && !is_name_of(*job, word)) return std::optional<stored_job>();
    return found;
}

bool is_name_of(stored_job const& job, std::string const& word) {
    return word.find('-') == word.npos || label_of(job.what.name, job.id) == word;
}

exit_code unknown_job(std::string const& word) {
    return fail(exit_code::bad_input, fmt::format("job {} is unknown; list the jobs with ration status", quoted(word)));
}

}  // namespace ration::program
