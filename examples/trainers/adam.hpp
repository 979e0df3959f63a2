// SPDX-License-Identifier: BSL-1.0
/// Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "layers.hpp"

namespace trainers {

template <class Real>
class adam {
    struct moments {
        parameter<Real>* of;
        std::vector<Real> first, second;
    };

    static constexpr double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8;
    double rate_, first_left_ = 1, second_left_ = 1;  // the latter two: decay to the power of the steps taken
    std::vector<moments> moments_;

public:
    /// The parameters must outlive it.
    adam(parameters<Real> const& learned, double rate) : rate_(rate) {
        for (auto* p : learned) {
            std::size_t const n = p->value.flat().size();
            moments_.push_back({p, std::vector<Real>(n), std::vector<Real>(n)});
        }
    }

    /// Moves every parameter against its gradient.
    void step() {
        first_left_ *= first_decay;
        second_left_ *= second_decay;
        double const correction = std::sqrt(1 - second_left_);
        for (auto& m : moments_)
            move(m, static_cast<Real>(rate_ * correction / (1 - first_left_)), static_cast<Real>(epsilon * correction));
    }

    /// All that later steps depend on, besides their number: the parameters, and the moments of each.
    [[nodiscard]] std::vector<std::span<Real>> state() {
        std::vector<std::span<Real>> all;
        for (auto& m : moments_) all.insert(all.end(), {m.of->value.flat(), m.first, m.second});
        return all;
    }
    /// Continues after this number of steps, whose `state` has been restored.
    void resume(std::uint64_t steps) {
        first_left_ = second_left_ = 1;
        for (std::uint64_t i = 0; i < steps; ++i) {
            first_left_ *= first_decay;
            second_left_ *= second_decay;
        }
    }

private:
    static void move(moments& m, Real rate, Real epsilon) {
        constexpr Real b1 = static_cast<Real>(first_decay), b2 = static_cast<Real>(second_decay);
        Real* const value = m.of->value.flat().data();
        Real const* const gradient = m.of->gradient.flat().data();
        Real* const first = m.first.data();
        Real* const second = m.second.data();
        for (std::size_t i = 0; i < m.first.size(); ++i) {
            first[i] = b1 * first[i] + (1 - b1) * gradient[i];
            second[i] = b2 * second[i] + (1 - b2) * gradient[i] * gradient[i];
            value[i] -= rate * first[i] / (std::sqrt(second[i]) + epsilon);
        }
    }
};

}  // namespace trainers
