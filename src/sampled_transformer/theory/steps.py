"""The statements of appendix E in the paper's order, each with its check, and with a repair if it fails as written."""

from __future__ import annotations

from . import claims as check
from .claims import Claim

EMBEDDING, SHIFT = "Positional Embedding", "Adaptive Selective Shift"
SELECT, LIMITS = "selective shift operations", "Preliminaries"
SPREAD, VERIFY = "All-max-shift", "Verifying Contextual Mapping"

CLAIMS = [
    Claim(
        "subset-reach",
        "section 4.2",
        "with the path of Eq. 4, n_s - 1 layers let any element of a subset attend to all others",
        check.subset_sees_itself,
        "true for the closed cycle, which all subsets form together (cycle-reach)",
    ),
    Claim("cycle-reach", "section 4.3", "n - 1 layers of the cycle connect all pairs", check.cycle_sees_itself),
    Claim(
        "embedding",
        EMBEDDING,
        "one W_p gives the E of the proof for every order of the points (the paper needs one order only)",
        check.embedding_for_all_orders,
        "E depends on the position in the cycle, not on the coordinates",
        ours=True,
    ),
    Claim("order", SHIFT, "l_2 < l_3 < ... < l_n < l_1", check.order_before),
    Claim("projection", SHIFT, "u^T is one-to-one on the grid values of each column", check.projection_on_cells),
    Claim(
        "projection-anywhere",
        SHIFT,
        "u^T is one-to-one because two columns differ by delta somewhere",
        check.projection_on_all,
        "true on the cell of each column, not on {0, ..., n - delta}^d; cells have disjoint ids (projection, order)",
    ),
    Claim(
        "pairs-as-written",
        "eq:selective_attn",
        "with A^2 as defined, l~_2 = l_2 + delta^-d (l_1 - l_2)",
        check.shift_with_written_pairs,
        "transpose: A^i_i = {i-1, i} and A^i_(i-1) = {i-1}, as in the example A^2_1 = {1}, A^2_2 = {1, 2}",
    ),
    Claim(
        "all-pairs",
        "SAttn = g^n o ... o g^1",
        "the closed forms hold when all n pairs take part (n delta^-d selective shifts)",
        check.closed_forms_with_all,
        "omit g^1: (n-1) delta^-d shifts; with g^1 the ids are different, but still contextual",
    ),
    Claim("closed-forms", SELECT, "the closed form of every l~_j (pairs transposed, without g^1)", check.closed_forms),
    Claim("order-after", SELECT, "(n-1) Delta <= l_1 < l~_2 < ... < l~_n", check.order_after),
    Claim("intervals", SELECT, "every l~_j is in the interval that the paper gives for it", check.inside_intervals),
    Claim("gap-chain", SELECT, "each line of the bound on the gap follows from the one before", check.gap_inequalities),
    Claim(
        "gaps",
        SELECT,
        "the intervals of the l~_j are disjoint (the paper: not guaranteed)",
        check.gaps_positive,
        "they overlap; the all-max-shifts do not need disjoint intervals, only that l~_n is one-to-one",
        ours=True,
    ),
    Claim(
        "selected-contextual",
        SELECT,
        "the selective shifts alone are a contextual mapping",
        check.selected_is_contextual,
        "never: l~_k depends only on l_1 ... l_k, so the all-max-shifts are needed even if the gap is positive",
        ours=True,
    ),
    Claim(
        "one-to-one-k",
        SELECT,
        "[l_1 ... l_n] -> l~_k is one-to-one for every k",
        lambda trace: check.one_to_one(trace.selected, trace, range(trace.setting.n)),
        "true for k = n, and the proof uses nothing else (one-to-one-n)",
    ),
    Claim(
        "one-to-one-n",
        SELECT,
        "[l_1 ... l_n] -> l~_n is one-to-one",
        lambda trace: check.one_to_one(trace.selected, trace, [trace.setting.n - 1]),
    ),
    Claim(
        "upper-bound-i",
        LIMITS,
        "l~_i <= delta^(-(i-1)d) (i-1+delta) (delta^-d - 1), for i >= 2",
        check.upper_bound_written,
        "write n - 1 + delta instead of i - 1 + delta; the last bound (upper-bound) still follows",
    ),
    Claim("upper-bound", LIMITS, "l~_i <= n delta^(-id) - delta", check.upper_bound_final),
    Claim("powers", LIMITS, "((2n+1)/2n)^k increases with k and is at most 2 for k = n", check.powers_below_two),
    Claim(
        "first-shift",
        SPREAD,
        "u^T M^1_k = l~_k + c l~_(k+1 mod n)",
        check.first_shift_as_written,
        "write l~_min(k+1, n): for k = n the keys are {n, 1}, and l~_n itself is the larger",
    ),
    Claim(
        "first-order",
        SPREAD,
        "l~_(k+1 mod n) < l~_(k'+1 mod n) implies u^T M^1_k < u^T M^1_k'",
        check.order_of_first_shift,
        "write min(k+1, n) instead of k+1 mod n",
    ),
    Claim(
        "second-shift",
        SPREAD,
        "u^T M^2_k = l~_k + 2 c l~_(k+1 mod n) + c^2 l~_(k+2 mod n)",
        check.second_shift_as_written,
        "write min(k+1, n) and min(k+2, n); with mod, n layers would return to l~_k instead of reaching l~_n",
    ),
    Claim(
        "shifts",
        SPREAD,
        "u^T M^t_k = sum_i binomial(t, i) c^i l~_min(k+i, n) (the repaired form)",
        check.shifts_in_closed_form,
        ours=True,
    ),
    Claim(
        "remainder",
        SPREAD,
        "each line of the bound on the remainder follows from the one before",
        check.remainder_inequalities,
    ),
    Claim(
        "bijective-keeps-apart",
        VERIFY,
        "ids within an input stay distinct because the layers are bijective",
        check.shift_keeps_ids_apart,
        "a one-to-one layer can make ids equal; they stay distinct because the repaired form increases with k",
    ),
    Claim("final-interval", VERIFY, "u^T M^n_k in [c^n l~_n, c^n (l~_n + delta))", check.inside_final_interval),
    Claim(
        "contextual",
        "Definition 3.2",
        "n all-max-shifts give a contextual mapping",
        lambda trace: check.after_layers(trace, trace.setting.n),
    ),
    Claim(
        "contextual-sooner",
        "Definition 3.2",
        "n - 1 all-max-shifts already give a contextual mapping",
        lambda trace: check.after_layers(trace, trace.setting.n - 1),
        ours=True,
    ),
    Claim(
        "contextual-too-soon",
        "Definition 3.2",
        "n - 2 all-max-shifts give a contextual mapping",
        lambda trace: check.after_layers(trace, trace.setting.n - 2),
        "n - 1: token 1 needs n - 1 steps to reach l~_n, the only id that depends on all tokens",
        ours=True,
    ),
    Claim(
        "one-direction",
        "Fig. 1d",
        "layers of one cycle in one direction suffice for both shifts; ids fall in the order n, 1, 2, ..., n - 1",
        check.one_direction,
        ours=True,
    ),
    Claim(
        "any-cycle",
        "section 4.4",
        "the same weights and embedding work for every random cycle",
        check.every_cycle_serves,
        "they work for exactly one of the (n-1)! cycles: the embedding must follow the cycle",
        ours=True,
    ),
]
