// SPDX-License-Identifier: BSL-1.0
/// `ration decide` without its input and output: a line in, a line out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/host/check.hpp>

#include "decide/client_tables.hpp"
#include "decide/fault.hpp"
#include "decide/request.hpp"
#include "events/json_writer.hpp"

namespace ration::program {

/// The time that a policy has for one answer.
inline constexpr nanoseconds decide_budget = milliseconds(100);

/// The enumerator, as answers name it: "over_capacity".
[[nodiscard]] std::string_view name_of_rule(check_rule rule) noexcept;

/// Answers requests of one client with one policy. Grants are checked as in `ration run`; nothing is applied, and the
/// client reports in "held" which grants it has put into force. The policy receives no events.
class decide_session {
    std::unique_ptr<any_policy> policy_;
    client_tables tables_;
    limits bound_;
    std::uint64_t schema_ = 0;  // of the tables when the policy was bound
    std::uint64_t line_ = 0, number_ = 0;
    nanoseconds start_, last_;
    std::vector<grant> space_;
    checker checker_;
    buffer<checked_grant> accepted_;
    buffer<rejection> rejected_;

public:
    /// `policy` is not null.
    explicit decide_session(std::unique_ptr<any_policy> policy);

    /// The answer to one line, without a newline: grants or an error. After an error of the request the tables are as
    /// before it.
    [[nodiscard]] std::string answer(std::string_view line);
    /// The answer to a line beyond `most_request_bytes`.
    [[nodiscard]] std::string refuse_long_line();

private:
    [[nodiscard]] std::string answer_to(client_request const& request);
    [[nodiscard]] result<void, request_fault> take(client_request const& request);
    [[nodiscard]] result<void, request_fault> bind();
    void write_grant(json_writer& json, grant const& g) const;
    [[nodiscard]] std::string grants_as_json(grants const& answer, nanoseconds took) const;
    [[nodiscard]] std::string error_as_json(request_fault const& fault, std::uint32_t column) const;
    [[nodiscard]] request_fault no_answer(status reply, bool overflowed) const;
};

}  // namespace ration::program
