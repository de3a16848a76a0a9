"""The table of the review of robustness, number by number, from the tests that hold each number closed.

    python tests/review.py [NUMBER ...]     # run them and print the table; exit code 1 if a number is open

`tests/fuzz/test_review_table.py` makes sure that every test named here exists.
"""

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK, REVIEW, FUZZ = "grading/test_notebook.py", "fuzz/test_review.py", "fuzz/test_fuzz.py"
CHECKS, EDITION, ASK = "grading/test_checks.py", "grading/test_edition.py", "story_qa/test_ask.py"

NUMBERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "1": (
        "one notebook destroys the grades of all",
        (
            f"{NOTEBOOK}::test_what_one_cell_does_costs_no_other_cell_its_grade",
            f"{NOTEBOOK}::test_a_cell_that_ends_the_process_costs_that_cell_alone",
            f"{NOTEBOOK}::test_what_is_no_notebook",
            f"{NOTEBOOK}::test_the_command_grades_all_it_can",
        ),
    ),
    "2": ("output fills memory", (f"{NOTEBOOK}::test_output_is_cut",)),
    "3": (
        "the student chooses the total",
        (f"{NOTEBOOK}::test_the_assignment_that_was_handed_out_says_what_counts",),
    ),
    "4": (
        "run --fresh beside a running trial",
        (f"{REVIEW}::test_fresh_beside_a_running_trial_deletes_nothing",),
    ),
    "5": ("right answers rejected by type", (f"{CHECKS}::test_equal_values_of_another_type_are_equal",)),
    "6": (
        "valid IPython costs the cell",
        (f"{NOTEBOOK}::test_what_one_cell_does_costs_no_other_cell_its_grade",),
    ),
    "7": ("wrong answers that pass", (f"{EDITION}::test_solution_stub_and_mistakes",)),
    "8": ("NotImplementedError of a library", (f"{CHECKS}::test_only_the_stub_s_own_raise_is_not_started",)),
    "9": (
        "a loop, an exit, a thread, grandchildren",
        (
            f"{NOTEBOOK}::test_a_loop_without_end_in_an_answer_costs_that_exercise_alone",
            f"{NOTEBOOK}::test_an_answer_that_ends_the_process_costs_that_exercise_alone",
            f"{NOTEBOOK}::test_no_process_of_a_notebook_outlives_its_grading",
        ),
    ),
    "10": (
        "no sandbox; forged results, patched checks",
        (
            f"{NOTEBOOK}::test_the_sandbox_shows_no_other_files_and_no_network",
            f"{NOTEBOOK}::test_forged_results_and_patched_checks_count_for_nothing",
            f"{NOTEBOOK}::test_without_a_sandbox_it_says_what_to_do",
        ),
    ),
    "11": (
        "a full disk",
        (
            f"{REVIEW}::test_a_full_disk_leaves_whole_records",
            f"{REVIEW}::test_a_full_disk_under_a_checkpoint_is_one_line",
        ),
    ),
    "12": (
        "no CSV, feedback, nbgrader, name, reason, limit",
        (
            f"{NOTEBOOK}::test_csv_feedback_and_what_could_not_be_graded",
            f"{NOTEBOOK}::test_students_who_hand_in_files_of_the_same_name_each_get_a_page",
            "tools/test_course.py::test_every_exercise_has_an_answer_and_a_test_with_its_points",
        ),
    ),
    "13": (
        "two campaigns at once",
        ("tracking/test_campaign.py::test_two_campaigns_at_once_record_every_trial_once",),
    ),
    "14": (
        "two builds at once, a damaged result",
        (
            "tools/test_book.py::test_two_builds_at_once_run_a_chapter_once",
            "tools/test_book.py::test_a_damaged_result_is_made_again",
        ),
    ),
    "15": (
        "tracebacks for odd numbers, paths, addresses, a full output",
        (
            f"{REVIEW}::test_odd_numbers_and_paths_are_one_line",
            f"{REVIEW}::test_a_dask_address_where_nobody_listens_is_one_line",
            f"{REVIEW}::test_standard_output_on_a_full_disk_is_one_line",
        ),
    ),
    "16": (
        "output in ASCII or Latin-1",
        (f"{FUZZ}::test_output_in_any_encoding", f"{REVIEW}::test_every_command_prints_in_ascii"),
    ),
    "17": ("line separators in records", (f"{REVIEW}::test_line_separators_of_unicode_are_read_again",)),
    "18": (
        "bundled weights without checksum",
        (
            "training/test_weights.py::test_a_listed_file_is_held_against_its_checksum",
            "training/test_weights.py::test_bundled_weights_are_listed_with_their_checksums",
        ),
    ),
    "19": ("--out replaces a device", (f"{REVIEW}::test_a_device_or_a_pipe_is_not_replaced",)),
    "20": (
        "odd headers of weights",
        (
            "training/test_weights.py::test_whatever_is_wrong_is_one_line",
            f"{FUZZ}::test_damaged_files_end_in_one_line",
        ),
    ),
    "21": ("an archive without a bound", (f"{REVIEW}::test_an_archive_that_grows_without_bound_is_refused",)),
    "22": ("claims.yaml accepts .nan", (f"{REVIEW}::test_claims_hold_numbers_that_are_numbers",)),
    "23": ("weak hints", (f"{EDITION}::test_solution_stub_and_mistakes",)),
    "24": (
        "emoji, a Chinese story, a row without its weights, a bad line of chat",
        (
            "tracking/test_experiment.py::test_a_trial_that_lacks_something_does_not_stop_the_others",
            f"{ASK}::test_questions_as_people_type_them",
            f"{ASK}::test_what_is_no_english_is_said",
            "goal_dialogue/test_listener.py::test_json_keeps_what_was_said_before_a_bad_line",
        ),
    ),
    "talking": (
        "punctuation, digits, a change of mind, unknown places",
        (
            "goal_dialogue/test_listener.py::test_what_is_heard",
            "goal_dialogue/test_listener.py::test_a_hundred_openings_lead_to_the_right_call",
            "goal_dialogue/test_listener.py::test_a_change_of_mind_counts_at_any_time",
            "goal_dialogue/test_chat.py::test_the_widget_understands_what_the_command_line_understands",
        ),
    ),
}


def outcomes(tests: set[str]) -> dict[str, list[str]]:
    """Run tests; test -> what each of its cases came to."""
    outcomes_by_test: dict[str, list[str]] = {test: [] for test in tests}
    shards = {test for test in tests if test.startswith(FUZZ)}  # the first of each kind
    for chosen, mark in ((shards, "not slow"), (tests - shards, "slow or not slow")):
        if not chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            command = [sys.executable, "-m", "pytest", "-q", "-m", mark, f"--junitxml={report}"]
            subprocess.run([*command, *(f"tests/{test}" for test in sorted(chosen))], cwd=ROOT)
            cases = list(ElementTree.parse(report).iter("testcase")) if report.is_file() else []
        for case in cases:
            kinds = {child.tag for child in case}
            state = (
                "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            )
            path = f"{case.get('classname', '').removeprefix('tests.').replace('.', '/')}.py"
            test = f"{path}::{str(case.get('name')).partition('[')[0]}"
            if test in outcomes_by_test:
                outcomes_by_test[test].append(state)
    return outcomes_by_test


def main() -> int:
    """Print the table."""
    wanted = {number: NUMBERS[number] for number in sys.argv[1:] or NUMBERS}
    outcomes_by_test = outcomes({test for _, tests in wanted.values() for test in tests})
    is_open = False
    print("\n| number | found by the review | state | held by |\n|---|---|---|---|")
    for number, (what, tests) in wanted.items():
        states = [state for test in tests for state in outcomes_by_test[test] or ["missing"]]
        bad = [state for state in states if state in ("failed", "missing")]
        passed, skipped = states.count("passed"), states.count("skipped")
        state = "open" if bad or not passed else f"closed, {passed} cases"
        state += f", {skipped} skipped here" if skipped else ""
        is_open |= state.startswith("open")
        print(f"| {number} | {what} | {state} | {', '.join(f'`{test}`' for test in tests)} |")
    return int(is_open)


if __name__ == "__main__":
    sys.exit(main())
