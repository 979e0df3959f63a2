// SPDX-License-Identifier: BSL-1.0
#include "baselines.hpp"

#ifdef RATION_BENCH_GLPK
#include <glpk.h>

namespace policy_bench {

bool has_general_solver() { return true; }

/// x(j, k) is 1 when job j has k devices. One k for each job; the devices suffice.
std::optional<double> general_solver(instance const& of, int seconds) {
    glp_prob* const problem = glp_create_prob();
    glp_set_obj_dir(problem, GLP_MAX);
    auto const jobs = static_cast<int>(of.jobs);
    glp_add_rows(problem, jobs + 1);
    glp_set_row_bnds(problem, jobs + 1, GLP_UP, 0, static_cast<double>(of.devices));
    for (int j = 0; j < jobs; ++j) {
        glp_set_row_bnds(problem, j + 1, GLP_FX, 1, 1);
        for (auto k = static_cast<int>(of.least); k <= static_cast<int>(most); ++k) {
            double const value = of.values[static_cast<std::size_t>(j) * width + static_cast<std::size_t>(k)];
            if (value < 0) continue;
            int const column = glp_add_cols(problem, 1), rows[] = {0, j + 1, jobs + 1};
            double const uses[] = {0, 1, static_cast<double>(k)};
            glp_set_col_kind(problem, column, GLP_BV);
            glp_set_obj_coef(problem, column, value);
            glp_set_mat_col(problem, column, 2, rows, uses);
        }
    }
    glp_iocp how;
    glp_init_iocp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.presolve = GLP_ON;
    how.tm_lim = seconds * 1000;
    how.tol_obj = 1e-9;
    std::optional<double> best;
    if (glp_intopt(problem, &how) == 0 && glp_mip_status(problem) == GLP_OPT) best = glp_mip_obj_val(problem);
    glp_delete_prob(problem);
    return best;
}

}  // namespace policy_bench

#else

namespace policy_bench {

bool has_general_solver() { return false; }
std::optional<double> general_solver(instance const&, int) { return {}; }

}  // namespace policy_bench

#endif
