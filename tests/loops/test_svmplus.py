"""What is here: the loops of the SVM+ engine against their dense twins and finite differences."""

import numpy as np
import pytest
from tests import naive
from tests.svmplus_problems import objective_and_violation, random_problem

from prml.loops import newton
from prml.loops import svmplus as loops
from prml.loops.rows import dense_rows
from prml.loops.teacher import scale_teacher
from prml.solvers.svmplus import teacher_of

FORMS = {
    "csr": {},
    "dense": {"form": "dense"},
    "float32": {"dtype": np.float32},
    "float32 dense": {"dtype": np.float32, "form": "dense"},
    "theta inf": {"theta": np.inf},
    "theta 1": {"theta": 1.0},
    "no intercept": {"intercept": False},
    "no bias": {"bias": 0.0},
    "pool": {"pool": [2, 4]},
    "missing labels": {"missing": 0.2},
    "missing in a pool": {"missing": 0.3, "pool": [1, 3], "intercept": False},
    "weights": {"weighted": True},
    "omega and centre": {"omega": 2.5, "centred": True},
}


def swept(problem, order, n_sweeps=2, kappa=np.inf):
    alpha, beta = np.zeros(len(problem.rows)), problem.group_cost.copy()
    z, u, s = np.empty_like(problem.centre), np.empty(problem.n_teachers), np.empty(3)
    loops.dual_state(problem, alpha, beta, z, u, s)
    for _ in range(n_sweeps):
        loops.sweep(problem, order, alpha, beta, z, u, s, kappa, 0.0, np.empty_like(order))
    return alpha, beta, z, u, s


@pytest.mark.parametrize("form", FORMS)
def test_sweep_equals_the_naive_pair_loop(form):
    problem, explicit = random_problem(3, **FORMS[form])
    p = problem
    order = np.random.default_rng(0).permutation(len(p.rows))
    alpha, beta, z, u, s = swept(p, order)
    slow_alpha, slow_beta = np.zeros(len(p.rows)), p.group_cost.copy()
    for _ in range(2):
        slow_z, slow_wt = naive.pair_sweep(
            explicit.x,
            p.sign,
            p.upper,
            explicit.v,
            p.group,
            p.group_cost,
            p.gamma2,
            p.omega,
            p.centre,
            order,
            slow_alpha,
            slow_beta,
        )
    np.testing.assert_allclose(alpha, slow_alpha, atol=1e-9)
    np.testing.assert_allclose(beta, slow_beta, atol=1e-9)
    np.testing.assert_allclose(z, slow_z, atol=1e-9)
    np.testing.assert_allclose((u - s[0]) / p.gamma2, slow_wt[:-1], atol=1e-9)
    np.testing.assert_allclose(p.teacher_bias * s[0] / p.gamma2, slow_wt[-1], atol=1e-9)


def test_sweep_without_a_teacher_is_dual_coordinate_descent_of_the_hinge_loss():
    problem, explicit = random_problem(5, teacher=False, intercept=False, theta=1.0)
    order = np.arange(len(problem.rows))
    alpha, _, z, _, _ = swept(problem, order)
    slow, w = np.zeros(len(order)), np.zeros(explicit.x.shape[1])
    for j in np.r_[order, order]:
        x = explicit.x[j]
        step = (1.0 - problem.sign[j] * (x @ w)) / (x @ x)
        new = min(max(slow[j] + step, 0.0), problem.upper[j])
        w += (new - slow[j]) * problem.sign[j] * x
        slow[j] = new
    np.testing.assert_allclose(alpha, slow, atol=1e-12)
    np.testing.assert_allclose(z, w, atol=1e-12)


def test_an_example_without_features_goes_to_the_bound_of_its_gradient():
    problem, _ = random_problem(1, bias=0.0)
    X = dense_rows(np.zeros((len(problem.rows), 6)), 0.0)
    problem = problem._replace(X=X, square=np.zeros(len(problem.rows)))
    alpha, beta, _, _, _ = swept(problem, np.arange(len(problem.rows)))
    assert np.isfinite(alpha).all() and np.isfinite(beta).all()
    assert (alpha > 0).any() and (alpha <= problem.upper).all()


@pytest.mark.parametrize("form", [name for name in FORMS if "intercept" not in str(FORMS[name])])
def test_sweep_with_a_held_offset_equals_the_naive_pair_loop(form):
    problem, explicit = random_problem(3, **FORMS[form])
    p = problem
    order = np.random.default_rng(0).permutation(len(p.rows))
    kappa, n_sweeps = 0.3, 3
    alpha, beta, z, u, s = swept(p, order, n_sweeps, kappa)
    slow_alpha, slow_beta, offset = np.zeros(len(p.rows)), p.group_cost.copy(), 0.0
    for _ in range(n_sweeps):
        slow_z, slow_wt, offset = naive.held_pair_sweep(
            explicit.x, p.sign, p.upper, explicit.v, p.group, p.group_cost, p.gamma2, p.omega,
            p.centre, order, slow_alpha, slow_beta, offset, kappa,
        )  # fmt: skip
    np.testing.assert_allclose(alpha, slow_alpha, atol=1e-9)
    np.testing.assert_allclose(beta, slow_beta, atol=1e-9)
    np.testing.assert_allclose(z, slow_z, atol=1e-9)
    np.testing.assert_allclose(s[2], offset, atol=1e-9)
    wt, wt0 = teacher_of(p, u, s)
    np.testing.assert_allclose(wt, slow_wt[:-1], atol=1e-9)
    np.testing.assert_allclose(wt0, slow_wt[-1], atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_values_are_those_of_the_written_out_formulas(form):
    problem, explicit = random_problem(7, **FORMS[form])
    p = problem
    rng = np.random.default_rng(1)
    z, wt = rng.normal(size=len(p.centre)), rng.normal(size=p.n_teachers)
    wt0 = p.teacher_bias * 3.0
    m, xi = np.empty(len(p.rows)), np.empty(len(p.norm))
    loops.margins(p, z, m)
    loops.slacks(p, wt0 - wt.sum(), wt, xi)
    np.testing.assert_allclose(m, p.sign * (explicit.x @ z), rtol=1e-12)
    np.testing.assert_allclose(xi, explicit.v @ np.r_[wt, wt0], rtol=1e-9, atol=1e-12)
    if np.isfinite(p.upper).all():
        expected, _ = objective_and_violation(p, explicit, z, wt, wt0)
        value = loops.primal_value(p, z, wt, wt0 - wt.sum(), m, xi)
        assert value == pytest.approx(expected, rel=1e-12)
    alpha = rng.random(len(m))
    beta, sigma = rng.random(len(xi)), np.empty(len(xi))
    loops.group_sums(p, alpha, beta, sigma)
    zsum = (alpha * p.sign) @ explicit.x
    w = sigma @ explicit.v
    dual = alpha.sum() - p.omega / 2 * zsum @ zsum - p.centre @ zsum - w @ w / (2 * p.gamma2)
    assert loops.dual_value(p, alpha, zsum, sigma) == pytest.approx(dual, rel=1e-12)


def lagrangian(p, explicit, z, wt, offset, alpha0, beta0, rho_alpha, rho_beta):
    """The augmented Lagrangian of (alpha0, beta0), multipliers maximised out."""
    w = np.r_[wt, p.teacher_bias * (offset + wt.sum())]
    m, xi = p.sign * (explicit.x @ z), explicit.v @ w
    alpha = np.clip(alpha0 + rho_alpha * (1 - m - xi[p.group]), 0, p.upper)
    beta = np.maximum(beta0 - rho_beta * xi, 0)
    value = (z - p.centre) @ (z - p.centre) / (2 * p.omega) + p.gamma2 / 2 * (w @ w)
    value += p.group_cost @ xi - beta @ xi + alpha @ (1 - m - xi[p.group])
    value -= ((beta - beta0) ** 2).sum() / (2 * rho_beta)
    return value - ((alpha - alpha0) ** 2).sum() / (2 * rho_alpha)


@pytest.fixture(params=["csr", "theta inf", "no intercept", "omega and centre", "missing labels"])
def newton_case(request):
    problem, explicit = random_problem(11, **FORMS[request.param])
    rng = np.random.default_rng(2)
    wt = 0.3 * rng.normal(size=problem.n_teachers)
    offset = np.array([0.2 - wt.sum() if problem.teacher_bias else -wt.sum()])
    z = 0.3 * rng.normal(size=len(problem.centre))
    m, xi = np.empty(len(problem.rows)), np.empty(len(problem.norm))
    loops.margins(problem, z, m)
    loops.slacks(problem, offset[0], wt, xi)
    anchor = 0.3 * rng.random(len(m)), 0.3 * rng.random(len(xi))
    return problem, explicit, (z, wt, offset, m, xi), anchor


def full_vector(p, z, wt, offset):
    return np.r_[z, wt, offset] if p.teacher_bias else np.r_[z, wt]


def split_vector(p, vector):
    z, wt = vector[: len(p.centre)], vector[len(p.centre) :][: p.n_teachers]
    return z, wt, vector[-1] if p.teacher_bias else -wt.sum()


def test_newton_direction_solves_the_system_of_finite_differences(newton_case):
    p, explicit, (z, wt, offset, m, xi), (alpha0, beta0) = newton_case
    rho = (0.7, 2.0)

    def value(vector):
        return lagrangian(p, explicit, *split_vector(p, vector), alpha0, beta0, *rho)

    here = full_vector(p, z, wt, offset[0])
    eye, h = np.eye(len(here)), 1e-5
    gradient = np.array([(value(here + h * e) - value(here - h * e)) / (2 * h) for e in eye])
    h = 1e-4
    hessian = np.array(
        [
            [
                value(here + h * (e + f))
                - value(here + h * (e - f))
                - value(here - h * (e - f))
                + value(here - h * (e + f))
                for f in eye
            ]
            for e in eye
        ]
    ) / (4 * h * h)
    alpha, beta, sigma = np.empty_like(m), np.empty_like(xi), np.empty_like(xi)
    free, gz, gwt = np.empty(len(m), np.int64), np.empty_like(z), np.empty_like(wt)
    n_free = newton.multipliers(p, m, xi, alpha0, beta0, *rho, alpha, beta, free, gz, sigma)
    gz -= (z - p.centre) / p.omega
    goffset = -newton.teacher_pullback(p, offset[0], wt, -sigma, gwt)
    gwt *= -1.0
    np.testing.assert_allclose(full_vector(p, gz, gwt, goffset), -gradient, atol=1e-5)
    dz, dwt = np.empty_like(z), np.empty_like(wt)
    weight = np.where(beta > 0.0, rho[1], 0.0)
    doffset, _, _ = newton.newton_direction(
        p, free[:n_free], weight, rho[0], gz, gwt, goffset, dz, dwt, 1000, 1e-12
    )
    direction = full_vector(p, dz, dwt, doffset)
    np.testing.assert_allclose(hessian @ direction, -gradient, atol=1e-3)
    every = weight + rho[0] * np.bincount(p.group[free[:n_free]], minlength=len(xi))
    of_offset = newton.diagonal(p, free[:n_free], every, rho[0], dz, dwt)
    np.testing.assert_allclose(full_vector(p, dz, dwt, of_offset), np.diag(hessian), atol=1e-3)


def test_newton_steps_reach_the_minimum_and_keep_the_invariant(newton_case):
    p, explicit, point, (alpha0, beta0) = newton_case
    rho = (0.7, 2.0)
    values, lengths = [], []
    for _ in range(25):
        z, wt, offset, m, xi = point
        values.append(lagrangian(p, explicit, z, wt, offset[0], alpha0, beta0, *rho))
        lengths.append(loops.newton_step(p, *point, alpha0, beta0, *rho, 100, 1e-8)[0])
    assert (np.diff(values) <= 1e-10 * np.abs(values[:-1])).all()
    assert lengths[-1] <= 1e-16 * lengths[0]
    np.testing.assert_allclose(m, p.sign * (explicit.x @ z), atol=1e-9)
    w = np.r_[wt, p.teacher_bias * (offset[0] + wt.sum())]
    np.testing.assert_allclose(xi, explicit.v @ w, atol=1e-9)


def test_smallest_lift_is_the_least_and_a_raised_point_is_feasible():
    for theta in (2.0, np.inf):
        problem, explicit = random_problem(13, theta=theta)
        p = problem
        rng = np.random.default_rng(3)
        z, wt = rng.normal(size=len(p.centre)), rng.normal(size=p.n_teachers)
        m, xi = np.empty(len(p.rows)), np.empty(len(p.norm))
        loops.margins(p, z, m)
        loops.slacks(p, -wt.sum(), wt, xi)
        lift = loops.smallest_lift(p, m, xi, np.ones(len(xi)))
        assert objective_and_violation(p, explicit, z, wt, lift)[1] <= 1e-12
        assert objective_and_violation(p, explicit, z, wt, lift - 1e-3)[1] > 0.0
        assert loops.smallest_lift(p, m, xi, np.zeros(len(xi))) == np.inf
        cheapest, raised = np.empty(len(xi), np.int64), np.empty_like(wt)
        loops.cheapest_entries(p, cheapest)
        lifting = (np.zeros_like(wt), 1.0, np.ones(len(xi)))
        value, wt0 = loops.repair(p, z, wt, 0.0, m, xi, *lifting, cheapest, raised)
        expected, violation = objective_and_violation(p, explicit, z, raised, wt0)
        assert violation <= 1e-9 and value == pytest.approx(expected)
        lifted, _ = objective_and_violation(p, explicit, z, wt, lift)
        assert value < lifted  # raising single labels was cheaper, else this tests less


@pytest.mark.parametrize("form", ["csr", "theta inf", "no intercept", "missing labels"])
def test_one_factor_for_all_betas_is_the_best_one(form):
    problem, _ = random_problem(5, **FORMS[form])
    p = problem
    order = np.random.default_rng(0).permutation(len(p.rows))
    alpha, beta, _, u, s = swept(p, order, 2, kappa=0.3)
    z, sigma = np.empty_like(p.centre), np.empty(len(beta))

    def value(factor):
        loops.group_sums(p, alpha, factor * beta, sigma)
        loops.dual_state(p, alpha, factor * beta, z, np.empty_like(u), np.empty(3))
        return loops.dual_value(p, alpha, (z - p.centre) / p.omega, sigma)

    scaled = beta.copy()
    scale_teacher(p, scaled, u, s)
    found = scaled[beta > 0.0] / beta[beta > 0.0]
    np.testing.assert_allclose(found, found[0])
    assert value(found[0]) >= max(map(value, np.linspace(0.0, 3.0, 301))) - 1e-12
    again_u, again = np.empty_like(u), np.empty(3)
    loops.dual_state(p, alpha, scaled, z, again_u, again)
    np.testing.assert_allclose(u, again_u, atol=1e-9)
    np.testing.assert_allclose(s[:2], again[:2], atol=1e-9)
