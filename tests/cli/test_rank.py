"""`gramsmith rank`: plan, work, files, statuses."""

import csv
import html
import json
import re
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from gramsmith import selection
from gramsmith.cli import rank as rank_module
from gramsmith.cli.rank import duration
from gramsmith.storage import inspect_model
from tools import clusters
from tools.tables_text import table_text

FILES = {"report.html", "ranking.csv", "ranking.json", "model.safetensors", "run.json"}


def test_a_run_leaves_five_files(command, table, tmp_path):
    folder = tmp_path / "run"
    done = command("rank", table, "--target", "y", "-o", folder)
    assert done.status == 0, done.err
    assert {path.name for path in folder.iterdir()} == FILES
    ranking = json.loads((folder / "ranking.json").read_text())
    assert ranking["verdict"]["text"] in done.out
    assert ranking["ranking"][0]["rank"] == 1
    rows = list(csv.DictReader((folder / "ranking.csv").read_text().splitlines()))
    assert [row["kernel"] for row in rows] == [record["kernel"] for record in ranking["ranking"]]
    run = json.loads((folder / "run.json").read_text())
    assert run["versions"]["gramsmith"] == gs.__version__
    assert run["command"]["seed"] == 0
    assert run["rows"] == 60
    assert "60 rows, 3 columns, classification" in done.err
    assert str(folder / "report.html") in done.err
    about = inspect_model(folder / "model.safetensors").about
    assert [column["name"] for column in about["columns"]] == ["a", "b", "colour"]
    assert about["columns"][2]["kind"] == "text"


def test_uneven_classes_are_told_the_option_and_not_again(command, tmp_path):
    rows = [f"{i % 7 + 5 * (i < 4)},{i * i % 11},{'rare' if i < 4 else 'often'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]))
    done = command("rank", tmp_path / "t.csv", "-t", "y")
    assert "smallest class has 6.7 %" in done.err
    assert "--scoring balanced_accuracy gives" in done.err
    assert "class_weight=" not in done.err
    done = command("rank", tmp_path / "t.csv", "-t", "y", "--scoring", "balanced_accuracy")
    assert done.status == 0, done.err
    assert "smallest class" not in done.err


def test_one_column_is_one_column(command, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(20)))
    done = command("rank", tmp_path / "t.csv", "-t", "y", "--dry-run")
    assert "20 rows, 1 column, classification" in done.err


def test_nothing_is_overwritten_unasked(command, table, tmp_path):
    (tmp_path / "run.json").write_text("precious")
    done = command("rank", table, "-t", "y", "-o", tmp_path)
    assert done.status == 2
    assert "--force" in done.err
    assert (tmp_path / "run.json").read_text() == "precious"
    assert command("rank", table, "-t", "y", "-o", tmp_path, "--force").status == 0
    assert (tmp_path / "run.json").read_text() != "precious"


def test_dry_run_shows_the_plan_and_stops(command, table, tmp_path):
    done = command("rank", table, "-t", "y", "-o", tmp_path / "run", "--dry-run")
    assert done.status == 0
    assert "Plan: check" in done.err
    assert not (tmp_path / "run").exists()
    done = command("rank", table, "-t", "y", "--dry-run", "--json")
    plan = json.loads(done.out)
    assert plan["rows"] == 60
    assert plan["task"] == "classification"
    assert plan["memory_mib"] > 0
    assert plan["seconds"] > 0
    assert len(plan["kernels"]) > 10


def test_json_and_quiet(command, table):
    done = command("rank", table, "-t", "y", "--json", "--quiet", "--seed", 1)
    found = json.loads(done.out)
    assert found["ranking"][0]["rank"] == 1
    assert "Plan" not in done.err
    names = [rival["name"] for rival in found["compared"]]
    assert names[0].startswith("always answering")
    assert names[1:] == ["logistic regression", "this model"]
    assert found["compared"][-1]["score"] == found["estimate"]["value"]


def test_verdict_comparison_five_kernels_and_no_more(command, table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    short = command("rank", table, "-t", "y", "--quiet").out
    lines = short.splitlines()
    assert lines[0].startswith("Predicts ")
    words = ["Always answering", "Logistic regression", "This model, on new data"]
    places = [next(k for k, line in enumerate(lines) if line.startswith(w)) for w in words]
    assert places == sorted(places)
    ranked = re.compile(r"^\d+( =)?  ", re.MULTILINE)
    assert len(ranked.findall(short)) == 5
    assert len(lines) < 22
    assert max(map(len, lines)) <= 80
    assert "cka" not in short
    long = command("rank", table, "-t", "y", "--quiet", "--verbose").out
    assert "cka" in long
    assert len(ranked.findall(long)) > 20
    assert max(map(len, long.splitlines())) <= 80


def test_the_sheet_of_a_workbook(command, tmp_path):
    frame = pd.read_csv(StringIO(table_text(60)))
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        frame.assign(y="none").to_excel(book, sheet_name="notes", index=False)
        frame.to_excel(book, sheet_name="data", index=False)
    done = command("rank", tmp_path / "t.xlsx", "-t", "y", "--dry-run")
    assert done.status == 3  # the first sheet has one class
    folder = tmp_path / "run"
    done = command("rank", tmp_path / "t.xlsx", "-t", "y", "--sheet", "data", "-o", folder)
    assert done.status == 0, done.err
    done = command("predict", folder / "model.safetensors", tmp_path / "t.xlsx", "--sheet", "data")
    assert len(done.out.splitlines()) == 61
    done = command("rank", tmp_path / "t.xlsx", "-t", "y", "--sheet", "dat")
    assert done.status == 3
    assert "'data'" in done.err


def test_same_seed_same_files(command, table, tmp_path, finished):
    folder = tmp_path / "run"
    assert command("rank", table, "-t", "y", "-o", folder, "--jobs", 1).status == 0
    for name in FILES - {"run.json", "report.html"}:
        assert (folder / name).read_bytes() == (finished / name).read_bytes(), name
    # at its end the page names the folder, and how long it took
    pages = [(path / "report.html").read_text() for path in (folder, finished)]
    first, second = (page.partition('aria-labelledby="next"') for page in pages)
    assert first[0] == second[0]
    assert str(folder / "model.safetensors") in first[2]


def test_the_next_steps_of_the_page_work(command, table, tmp_path, monkeypatch):
    """What the page says to type is typed, in the folder in which the command was given."""
    monkeypatch.chdir(tmp_path)
    pd.read_csv(table).drop(columns="y").to_csv("new.csv", index=False)
    assert command("rank", table, "-t", "y", "-o", "run").status == 0
    page = Path("run/report.html").read_text()
    steps = [html.unescape(code) for code in re.findall(r"<code>(.*?)</code>", page, re.DOTALL)]
    shell = [shlex.split(step)[1:] for step in steps if step.startswith("gramsmith ")]
    assert [words[0] for words in shell] == ["predict", "inspect"]
    for words in shell:
        done = command(*words)
        assert done.status == 0, done.err
    [code] = [step for step in steps if "load_model" in step]
    *lines, last = code.splitlines()
    known = {}
    exec("\n".join(lines), known)
    predicted = eval(last, known)
    rows = Path("predictions.csv").read_text().splitlines()[1:]
    assert [row.split(",")[-1] for row in rows] == [str(label) for label in predicted]


def test_sequences_have_next_steps_of_their_own(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(40)]
    Path("sites.fasta").write_text("".join(f">s{k}\n{s}\n" for k, s in enumerate(names)))
    Path("new.fasta").write_text(Path("sites.fasta").read_text())
    labels = "\n".join(["label", *("yes" if "A" in s[:3] else "no" for s in names)])
    Path("labels.csv").write_text(labels)
    done = command("rank", "sites.fasta", "--labels", "labels.csv", "-o", "run")
    assert done.status == 0, done.err
    page = Path("run/report.html").read_text()
    steps = [html.unescape(code) for code in re.findall(r"<code>(.*?)</code>", page, re.DOTALL)]
    [step] = [step for step in steps if step.startswith("gramsmith predict ")]
    assert command(*shlex.split(step)[1:]).status == 0
    [code] = [step for step in steps if "read_fasta" in step]
    *lines, last = code.splitlines()
    known = {}
    exec("\n".join(lines), known)
    assert len(eval(last, known)) == 40


def test_regression_and_sample(command, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    rows = [f"{a},{b},{np.sin(a) + b}" for a, b in X]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,y", *rows]))
    done = command("rank", path, "-t", "y", "--sample", 80)
    assert done.status == 0
    assert "regression (the target has 120 different numbers)" in done.err


def test_groups_never_become_inputs(command, tmp_path):
    text = table_text(60).splitlines()
    rows = [f"{line},{i % 6}" if i else f"{line},who" for i, line in enumerate(text)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    folder = tmp_path / "run"
    done = command("rank", path, "-t", "y", "--groups", "who", "-o", folder)
    assert (done.status, ", 6 groups, " in done.err) == (0, True)
    about = inspect_model(folder / "model.safetensors").about
    assert [column["name"] for column in about["columns"]] == ["a", "b", "colour"]
    assert command("rank", path, "-t", "y", "--groups", "whom").status == 3


def test_a_column_of_time_makes_folds_look_back(command, tmp_path):
    lines = table_text(60).splitlines()
    days = [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(60)]
    path, folder = tmp_path / "t.csv", tmp_path / "run"
    path.write_text("\n".join(f"{a},{b}" for a, b in zip(lines, ["day", *days], strict=True)))
    asked = ("rank", path, "-t", "y", "--role", "day=time")
    done = command(*asked, "--horizon", 7, "--gap", 1, "-o", folder)
    assert done.status == 0
    assert "the next period" in done.out
    assert "7 days" in done.out
    about = inspect_model(folder / "model.safetensors").about
    assert about["summary"]["period"] == "7 days"
    assert "day" in about["ignored"]
    assert command(*asked, "--horizon", 70).status == 3
    refused = command("rank", path, "-t", "y", "--horizon", 7)
    assert refused.status == 2
    assert "--role" in refused.err


@pytest.mark.parametrize(
    ("text", "args", "words"),
    [
        ("a,b,label\n1,2,x\n", ["-t", "lable"], "Did you mean 'label'?"),
        ("", ["-t", "y"], "empty file"),
        ("a,y\n", ["-t", "y"], "expected rows"),
        ("a,y\n1,2,3\n", ["-t", "y"], "expected 2 fields, got 3"),
        ("a,y,y\n1,2,3\n", ["-t", "y"], "one column 'y', got several"),
        ("a,y\n1,p\n1e400,q\n2,p\n3,q\n", ["-t", "y"], "row 2 (line 3), column 'a'"),
        ("a,y\n1,p\n,q\n", ["-t", "y", "--missing", "error"], "--missing drop"),
        ("a,y\n1,p\n2,\n", ["-t", "y"], "column 'y': expected a value"),
        ("a,y\n1,p\n2,p\n3,p\n", ["-t", "y"], "at least two different labels"),
        ("a,y\n1,p\n2,q\n3,r\n", ["-t", "y"], "3 different labels in 3 rows"),
        ("a,y\n1,p\n2,q\n" * 1, ["-t", "y", "--max-bytes", "5"], "--max-bytes"),
        ("a,y\n1,p\n2,q\n3,p\n", ["-t", "y", "--max-rows", "2"], "--max-rows"),
        ("a,b,y\n1,1,p\n", ["-t", "y", "--max-cols", "2"], "--max-cols"),
    ],
)
def test_bad_data_is_status_3_and_named(command, tmp_path, text, args, words):
    path = tmp_path / "t.csv"
    path.write_text(text)
    done = command("rank", path, *args)
    assert done.status == 3
    assert done.out == ""
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_target_must_be_named(command, table):
    done = command("rank", table)
    assert done.status == 2
    assert "--target (a, b, colour, y)" in done.err


def test_leading_zeros_reach_the_predictions(command, tmp_path):
    rows = [f"{i % 3 + i / 1000},{i},{('007', '7', '8')[i % 3]}" for i in range(60)]
    path, folder = tmp_path / "t.csv", tmp_path / "run"
    path.write_text("\n".join(["a,b,y", *rows]))
    done = command("rank", path, "-t", "y", "-o", folder)
    assert "the target has 3 classes" in done.err
    done = command("predict", folder / "model.safetensors", path)
    found = [row["prediction"] for row in csv.DictReader(done.out.splitlines())]
    assert set(found) == {"007", "7", "8"}


def test_missing_cells_imputed(command, tmp_path):
    lines = table_text(60).splitlines()
    lines[5] = "," + lines[5].split(",", 1)[1]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    folder = tmp_path / "run"
    done = command("rank", path, "-t", "y", "-o", folder, "--json")
    assert done.status == 0
    done = command("predict", folder / "model.safetensors", path)
    assert done.status == 0
    assert len(done.out.splitlines()) == 61
    assert done.err == ""


def test_an_output_that_cannot_be_written(command, table, tmp_path):
    (tmp_path / "file").write_text("")
    done = command("rank", table, "-t", "y", "-o", tmp_path / "file" / "run")
    assert done.status == 2
    assert "can be written to" in done.err


def test_interrupted_and_resumed(command, table, tmp_path, monkeypatch, finished):
    folder = tmp_path / "run"
    original = selection.rank
    stages = []

    def interrupted(problem, work):
        def stop(stage, *rest):
            stages.append(stage)
            if stage == "cross-validation":
                raise KeyboardInterrupt

        work.progress = stop
        return original(problem, work)

    monkeypatch.setattr(selection, "rank", interrupted)
    done = command("rank", table, "-t", "y", "-o", folder)
    assert done.status == 130
    assert "--resume" in done.err
    assert (folder / "progress.journal").exists()
    assert not (folder / "model.safetensors").exists()
    monkeypatch.setattr(selection, "rank", original)
    assert command("rank", table, "-t", "y", "-o", folder).status == 2
    done = command("rank", table, "-t", "y", "-o", folder, "--resume", "--seed", 5)
    assert done.status == 2
    assert "seed 5 instead of 0" in done.err
    done = command("rank", table, "-t", "y", "-o", folder, "--resume")
    assert done.status == 0, done.err
    assert "finished pieces of work" in done.err
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / "ranking.json").read_text() == (finished / "ranking.json").read_text()


def test_resuming_spares_a_finished_run(command, table, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "report.html").write_text("precious")
    done = command("rank", table, "-t", "y", "-o", folder, "--resume")
    assert done.status == 2
    assert "holds a finished run (report.html)" in done.err
    assert [path.read_text() for path in folder.iterdir()] == ["precious"]


def test_a_mistyped_folder_is_not_resumed(command, table, tmp_path):
    done = command("rank", table, "-t", "y", "-o", tmp_path / "run", "--resume")
    assert done.status == 2
    assert "has no such run" in done.err
    assert not (tmp_path / "run").exists()


def test_interrupted_while_writing(command, table, tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    monkeypatch.setattr(rank_module, "write_outputs", interrupted)
    done = command("rank", table, "-t", "y", "-o", folder)
    assert done.status == 130
    assert "--resume" in done.err
    monkeypatch.undo()
    assert command("rank", table, "-t", "y", "-o", folder, "--resume").status == 0
    assert {path.name for path in folder.iterdir()} == FILES


def test_a_refused_run_leaves_no_folder(command, table, tmp_path, monkeypatch):
    assert command("rank", table, "-t", "nothing", "-o", tmp_path / "a" / "run").status == 3

    def refuse(*args, **options):
        raise ValueError("Expected more rows.")

    monkeypatch.setattr(selection, "rank", refuse)
    assert command("rank", table, "-t", "y", "-o", tmp_path / "a" / "run").status == 3
    assert not (tmp_path / "a").exists()


def test_constant_features_are_nothing_to_learn_from(command, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "1,2,p\n1,2,q\n" * 20)
    done = command("rank", path, "-t", "y")
    assert done.status == 3
    assert "'a' is constant; 'b' is constant" in done.err


def test_a_page_that_fails_leaves_no_other_file(command, table, tmp_path, monkeypatch):
    def fail(*args, **options):
        raise RuntimeError("no ink")

    folder = tmp_path / "run"
    monkeypatch.setattr(selection.KernelRanking, "write_html", fail)
    assert command("rank", table, "-t", "y", "-o", folder).status == 1
    assert [path.name for path in folder.iterdir()] == ["progress.journal"]


def test_unknown_scores_offer_the_nearest(command, table):
    done = command("rank", table, "-t", "y", "--scoring", "acuracy")
    assert done.status == 2
    assert "accuracy" in done.err
    done = command("rank", table, "-t", "y", "--jobs", 0)
    assert done.status == 2


def test_resume_needs_a_folder(command, table):
    assert command("rank", table, "-t", "y", "--resume").status == 2


def test_not_converged_is_status_4(command, table, monkeypatch):
    original = selection.rank

    def stuck(*args):
        ranking = original(*args)
        ranking.converged = False
        return ranking

    monkeypatch.setattr(selection, "rank", stuck)
    done = command("rank", table, "-t", "y")
    assert done.status == 4
    assert "did not converge" in done.err


def test_too_little_memory_is_status_5(command, table, monkeypatch):
    def greedy(*args, **options):
        raise MemoryError("Expected a budget of at least 9 MiB, got 1.")

    monkeypatch.setattr(selection, "rank", greedy)
    done = command("rank", table, "-t", "y", "--memory", 1)
    assert done.status == 5
    assert "9 MiB" in done.err


def test_hostile_names_stay_text(command, tmp_path):
    header = '<script>alert(1)</script>,"=cmd|""x""!A0",\u202e$\\frac,"y"" onload=""x"'
    path = tmp_path / "<img src=x>.csv"
    path.write_text(table_text(60, header=header).replace("same", "<b>same</b>"))
    folder = tmp_path / "run"
    done = command("rank", path, "-t", 'y" onload="x', "-o", folder)
    assert done.status == 0, done.err
    page = (folder / "report.html").read_text()
    for raw in ("<script>alert", "<img src=x>", "<b>same</b>", "\u202e"):
        assert raw not in page.replace("&#8238;", "")
    assert "\u202e" not in done.err


def test_durations():
    assert [duration(s) for s in (0.1, 30, 200, 9000)] == [
        *("2 seconds", "30 seconds", "3 minutes", "2.5 hours")
    ]


@pytest.mark.slow
def test_ctrl_c_in_a_real_process(tmp_path):
    import signal
    import time

    path = tmp_path / "t.csv"
    path.write_text(table_text(3000))
    folder = tmp_path / "run"
    args = [sys.executable, "-m", "gramsmith", "rank", str(path), "-t", "y", "-o", str(folder)]
    process = subprocess.Popen(
        args,
        stderr=subprocess.PIPE,
        text=True,
        # a shell may have the processes in its background ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (folder / "progress.journal").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_large_table_stays_small_in_memory(tmp_path):
    """100 000 rows of 20 columns: under 2 GB, what was sampled is said, the true kernel on top."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 20))
    y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0, "in", "out")
    verdicts = []
    for rows in (100_000, 20_000):
        path = tmp_path / f"{rows}.csv"
        lines = [",".join([*(f"{v:.5f}" for v in x), t]) for x, t in zip(X[:rows], y, strict=False)]
        path.write_text("\n".join([",".join([*(f"x{i}" for i in range(20)), "y"]), *lines]))
        script = (
            "import resource, sys\nfrom gramsmith.cli import run\n"
            f"status = run(args=['rank', {str(path)!r}, '-t', 'y', '--json'])\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
            "sys.exit(status)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert int(done.stderr.split()[-1]) * 1024 < 2e9
        assert f"Of {rows:,} rows, samples were used" in done.stderr
        table = json.loads(done.stdout)["ranking"]
        verdicts.append({r["family"] for r in table if r["rank"] == 1 or r["tied"]})
    assert all("linear" in families for families in verdicts)


def test_on_a_cluster(command, table, tmp_path, finished):
    with clusters.workers(2) as client:
        address = client.cluster.scheduler_address
        done = command("rank", table, "-t", "y", "-o", tmp_path / "there", "--dask", address)
        assert done.status == 0, done.err
    here, there = ((run / "ranking.json").read_text() for run in (finished, tmp_path / "there"))
    assert here == there


def test_clusters_that_cannot_be_used(command, table, tmp_path, monkeypatch):
    dask = pytest.importorskip("gramsmith.gram.dask")

    def refused(*options):
        done = command("rank", table, "-t", "y", *options)
        assert done.status == 2
        return done.err

    nowhere = "tcp://127.0.0.1:9"
    honest = dask.connect
    monkeypatch.setattr(dask, "connect", lambda **given: honest(timeout=1.0, **given))
    assert f"{nowhere}, got no answer within 1 seconds" in refused("--dask", nowhere)
    assert "not both" in refused("--dask", nowhere, "--scheduler-file", "x")
    assert "--jobs and --memory are for threads" in refused("--dask", nowhere, "--jobs", 2)
    assert "file of a running scheduler" in refused("--scheduler-file", tmp_path / "x")


def test_a_class_of_one_row_may_be_left_out(command, tmp_path):
    rows = [f"{i},{i % 3},{'ab'[i % 2]}" for i in range(20)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x,z,y", *rows, "3,1,c", "4,1,d"]) + "\n")
    done = command("rank", path, "-t", "y", "--dry-run")
    assert done.status == 3
    assert "--drop-lone leaves them out" in done.err
    done = command("rank", path, "-t", "y", "--dry-run", "--drop-lone", "--json")
    assert done.status == 0
    assert "2 classes of a single row" in done.err
    assert json.loads(done.out)["rows"] == 20
    assert "--drop-lone" not in command("evaluate", path, "-t", "y").err


def test_estimators_beside_the_kernels(command, table, tmp_path):
    names = ["--estimator", "knn", "--estimator", "linear"]
    done = command("rank", table, "-t", "y", "-o", tmp_path / "run", *names)
    assert done.status == 0, done.err
    ranking = json.loads((tmp_path / "run" / "ranking.json").read_text())
    assert {r["estimator"] for r in ranking["estimators"]} == {"knn", "linear"}
    assert ranking["overall_estimate"]["low"] <= ranking["overall_estimate"]["high"]
    assert ranking["verdict"]["others"] in done.out
    assert "knn" in (tmp_path / "run" / "report.html").read_text("utf-8")
    assert inspect_model(tmp_path / "run" / "model.safetensors")  # of kernels
    done = command("rank", table, "-t", "y", "--estimator", "random_forest")
    assert done.status == 2
    assert "names among hgb, forest" in done.err
    assert "Did you mean 'forest'?" in done.err


@pytest.fixture
def matrices(tmp_path, rng):
    """A kernel matrix of 60 samples, their labels, and the block of 20 others, in two formats."""
    X = rng.normal(size=(80, 3))
    K = gs.Gaussian(2.0)(X)
    y = np.where(X[:, 0] > 0, "p", "q")
    np.save(tmp_path / "K.npy", K[:60, :60])
    np.save(tmp_path / "block.npy", K[60:, :60])
    names = [f"s{i}" for i in range(60)]
    pd.DataFrame(K[60:, :60], columns=names).to_csv(tmp_path / "block.csv", index=False)
    frame = pd.DataFrame(K[:60, :60], columns=names).assign(label=y[:60])
    frame.to_csv(tmp_path / "K.csv", index=False)
    frame[["label"]].to_csv(tmp_path / "labels.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("form", ["npy", "csv"])
def test_a_kernel_matrix_and_a_block_of_new_rows(command, matrices, form):
    folder = matrices
    target = ("--labels", folder / "labels.csv") if form == "npy" else ("-t", "label")
    file, run = folder / f"K.{form}", folder / "run"
    done = command("rank", file, *target, "--precomputed", "-o", run, "--quiet", "--json")
    assert done.status == 0, done.err
    assert [r["kernel"] for r in json.loads(done.out)["ranking"]] == ["precomputed"]
    predicted = command("predict", run / "model.safetensors", folder / f"block.{form}", "--json")
    assert predicted.status == 0, predicted.err
    assert predicted.err == ""
    rows = json.loads(predicted.out)
    model = gs.load_model(run / "model.safetensors")
    assert [r["prediction"] for r in rows] == model.predict(np.load(folder / "block.npy")).tolist()
    other = folder / f"block.{'csv' if form == 'npy' else 'npy'}"
    assert command("predict", run / "model.safetensors", other, "--json").out == predicted.out
    if form == "csv":  # a column of the block is missing
        short = command("predict", run / "model.safetensors", folder / "block.csv", "--drop", "s3")
        assert short.status == 3


def test_a_table_that_looks_like_a_kernel_matrix_is_pointed_out(command, matrices, table):
    folder = matrices
    labels = ("--labels", folder / "labels.csv")
    done = command("rank", folder / "K.npy", *labels, "--dry-run")
    assert "--precomputed" in done.err
    assert "--precomputed" not in command("rank", table, "-t", "y", "--dry-run").err
    assert command("rank", table, "-t", "y", "--precomputed").status == 3
    K = np.load(folder / "K.npy")
    K[3, 4] += 0.1
    np.save(folder / "odd.npy", K)
    assert "--precomputed" not in command("rank", folder / "odd.npy", *labels, "--dry-run").err
    done = command("rank", folder / "odd.npy", *labels, "--precomputed")
    assert done.status == 3
    assert "symmetric" in done.err
    K[:, 4] = np.nan
    np.save(folder / "odd.npy", K)
    done = command("rank", folder / "odd.npy", *labels, "--precomputed")
    assert done.status == 3
    assert "missing" in done.err


def test_rows_have_the_numbers_of_the_file_also_after_some_were_left_out(command, tmp_path):
    rows = [f"{i}.5,{i % 5}" for i in range(40)]
    rows[3], rows[7], rows[20] = "3.5,", "7.5,", "twelve,1"
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *rows]))
    options = ("-t", "y", "--task", "regression", "--missing", "drop-target")
    done = command("rank", tmp_path / "t.csv", *options)
    assert "row 21 (line 22), column 'a'" in done.err
    assert "2 of 40 rows have no target and were left out." in done.err
