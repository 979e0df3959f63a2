# SPDX-License-Identifier: BSL-1.0
"""Prints what TRADL's rule can give at most, from its formula alone, as a Markdown table.

n equal jobs, each able to use the whole machine, share it evenly until k of them reach Acceptable. Each of the k is then limited
to 1/(n+1) (it was at its fair share) or 1/(2n) (it was above); the other n-k divide what is left. The reduction is that of the
time which the n-k still need, if nothing else changes. "Released" is what the end of those k jobs gives, as in scenario FT.
"""


def reduction(n: int, k: int, limit: float) -> float:
    """1 - (time with k jobs at `limit` each) / (time with even shares), for one of the n-k jobs without a limit."""
    return 1 - (1 / n) / ((1 - k * limit) / (n - k))


def main() -> None:
    print("| jobs n | limited k | limit 1/(n+1) | limit 1/(2n) | released |\n|---|---|---|---|---|")
    for n in range(2, 7):
        for k in range(1, n):
            cells = (f"{100 * reduction(n, k, limit):.1f} %" for limit in (1 / (n + 1), 1 / (2 * n), 0))
            print(f"| {n} | {k} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
