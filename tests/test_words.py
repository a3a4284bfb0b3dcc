"""One word for one thing: no word that another stands for, no name of two things, and kernels that say their steps."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import fwlasso

ROOT = Path(fwlasso.__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
PAGES = sorted(
    {*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"}
)
# What is written for a thing that has a name: docs/glossary.md has the names.
REFUSED = {
    r"(regulari[sz]ation|tuning|shrinkage) (parameter|strength)|hyperparameter": "alpha, lambda or penalty",
    r"lam_max|lambdamax|lmax": "lambda_max",
    r"penali[s]ed|regulari[s]ed": "penalized",
    r"appraise|convoy": "solve, node",
    r"(optimality|primal-dual) gap": "duality gap",
    r"(intercept|bias) term": "intercept",
    r"(data|feature) matrix": "X",
    r"(explanatory|independent|predictor) variables?": "features, or columns of X",
    r"observations?|data points?": "samples",
}
# Names of pages that are generated, or of another time.
LEFT_OUT = ("RESULTS.md", "CHANGELOG.md", "glossary.md")
# The same name in several modules, and why it is no other thing.
SHARED = {
    **dict.fromkeys(
        ["advance", "correlate", "Node", "Targets"], "on columns and on inner products, one in each engine"
    ),
    **dict.fromkeys(["center", "count_entries", "refresh", "with_places"], "of columns and of their copies"),
    **dict.fromkeys(["Model", "Slopes", "Products", "correlations"], "what a solver keeps of its own"),
    **dict.fromkeys(["Samples", "Variant"], "genotypes have samples and variants of their own"),
    "Rows": "numbers of rows; rows of a preconditioner",
    "Predicted": "of a point; of held-out samples",
    "all_columns": "a draw; names",
    "changes": "of pieces; of code",
    "cut_rows": "of sparse copies; of blocks",
    "described": "of a matrix; of a table",
    "is_number": "of a type; of a value of JSON",
    "is_plain": "of costs; of arrays",
    "null_model": "of inner products; of a loss",
    "read_beside": "of one file; of a cohort",
    "reach": "of a loss; of levels",
    "solve": "a factor's; a path's",
    "Terms": "what users ask of columns; what a gap follows from",
    "Active": "columns A of a point",
    "NullModel": "of inner products; of a loss",
}
#: Kernels that are an algorithm: their heads say it in steps.
ALGORITHMS = ("gram_path", "gram_nodes", "subproblem/rounds", "subproblem/newton", "subproblem/conjugate")


def names(tree: ast.Module) -> dict[str, str]:
    """Return the types and public functions of a module, and what they are: aliases are what they stand for."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name] = "defined"
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and re.fullmatch("[A-Z][a-z][A-Za-z]*", target.id):
                found[target.id] = re.sub("numpy|np|typing", "", ast.unparse(node.value))
    return found


@pytest.mark.parametrize("word", REFUSED)
def test_no_word_is_used_that_another_stands_for(word):
    pattern = re.compile(rf"(?<![\w-])({word})(?![\w-])", re.IGNORECASE)
    files = [*MODULES, *(page for page in PAGES if page.name not in LEFT_OUT)]
    hits = [f"{file.relative_to(ROOT)}: {hit.group()}" for file in files for hit in pattern.finditer(file.read_text())]
    assert hits == [], f"write {REFUSED[word]}"


def test_no_two_things_have_one_name():
    meanings, where = defaultdict(list), defaultdict(list)
    for file in MODULES:
        if not {"cli", "distributed"} & {*file.parts}:  # both are called as what they do, here or elsewhere
            for name, meaning in names(ast.parse(file.read_text())).items():
                meanings[name].append(meaning)
                where[name].append(str(file.relative_to(ROOT / "src")))
    twice = {name for name, of in meanings.items() if len(of) > 1 and ("defined" in of or len(set(of)) > 1)}
    assert {name: where[name] for name in twice - {*SHARED}} == {}
    assert {*SHARED} <= twice, "take out of the table what is no more"


@pytest.mark.parametrize("module", ALGORITHMS)
def test_an_algorithm_is_in_steps_at_the_head_of_its_module(module):
    text = ast.get_docstring(ast.parse((ROOT / f"src/fwlasso/_core/{module}.py").read_text()))
    steps = re.findall(r"^(\d)\. ", text, re.MULTILINE)
    assert len(steps) >= 3
    assert steps == [str(k + 1) for k in range(len(steps))]
