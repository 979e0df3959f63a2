// SPDX-License-Identifier: BSL-1.0
/// Makes one chosen call go wrong, to show that the code around it copes.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include <ration/cgroup/detail/filter.hpp>

namespace ration::cgroup {

/// What happens at the n-th call: it answers `error` (when that is not 0); or it answers with the first half of what
/// was read; or `happening` happens just before it.
struct fault {
    std::size_t at = 0;  ///< counted from 0 since `arm`
    int error = 0;
    bool short_read = false;
    std::function<void()> happening{};
    bool lasting = false;  ///< that call and each after it that names the same file or group
};

class fault_injector final : public filter {
    fault planned_;
    bool armed_ = false;
    std::size_t calls_ = 0;
    bool struck_ = false;
    call_kind kind_{};
    std::string name_;

public:
    using filter::filter;

    /// From now on calls are counted, and the planned one goes wrong.
    void arm(fault planned) noexcept {
        planned_ = std::move(planned);
        armed_ = true;
        struck_ = false;
        calls_ = 0;
    }
    void disarm() noexcept { armed_ = false; }

    /// Calls since `arm`.
    [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
    [[nodiscard]] bool struck() const noexcept { return struck_; }
    /// The call that was struck.
    [[nodiscard]] call_kind kind() const noexcept { return kind_; }
    [[nodiscard]] std::string const& name() const noexcept { return name_; }

protected:
    int before(call const& what) noexcept override {
        if (!armed_) return 0;
        bool const again = struck_ && planned_.lasting && what.kind == kind_ && what.name == name_;
        if (calls_++ != planned_.at && !again) return 0;
        struck_ = true;
        kind_ = what.kind;
        name_ = what.name;
        if (planned_.happening) planned_.happening();
        return planned_.error;
    }

    int after(call const& what, answer const& got) noexcept override {
        bool const now = armed_ && struck_ && calls_ == planned_.at + 1 && planned_.short_read;
        if (now && what.kind == kind_ && got.text != nullptr) got.text->resize(got.text->size() / 2);
        return got.failed;
    }
};

}  // namespace ration::cgroup
