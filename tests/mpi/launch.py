#!/usr/bin/env python3
"""Runs one MPI program, plain or with the add-on, and judges how it went."""

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema


SKIPPED = 77  # SKIP_RETURN_CODE
COMPONENT_PATH = "OMPI_MCA_mca_base_component_path"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launcher", required=True, help="path of mpirun.openmpi or mpirun.mpich")
    parser.add_argument("--launcher-option", action="append", default=[], metavar="OPTION")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--addon", help="preload this; without it the program runs plain")
    parser.add_argument("--component", metavar="FILE",
                        help="Open MPI loads this component; with --addon it has both")
    parser.add_argument("--before", metavar="FILE", help="preload this in front of the add-on")
    parser.add_argument("--behind", metavar="FILE", help="preload this behind the add-on")
    parser.add_argument("--linked", action="store_true",
                        help="the program has the add-on in it: nothing is preloaded")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--addon-of", metavar="RANKS",
                        help="preload it into these alone: 0-1,3; without --addon, these alone "
                        "have the component")
    parser.add_argument("--disabled-on", metavar="RANKS", help="WEFT_DISABLE=1 there alone")
    parser.add_argument("--apart", metavar="RANKS",
                        help="these run in namespaces of their own; launcher: all in one")
    parser.add_argument("--unshare", metavar="OPTIONS", default="",
                        help="of unshare, for --apart; the test is skipped where that is refused")
    parser.add_argument("--inert", action="store_true",
                        help="weft must do nothing: no report, and nothing printed but --says")
    parser.add_argument("--says", metavar="TEXT",
                        help="one rank must print the line 'weft: TEXT...', once")
    parser.add_argument("--device", action="store_true", help="blocks must cross the device")
    parser.add_argument("--passed", action="append", default=[], metavar="WHY",
                        help="the report must say that calls were passed through, and why")
    parser.add_argument("--note", action="append", default=[], metavar="TEXT",
                        help="the report must have a note that says so")
    parser.add_argument("--no-note", action="append", default=[], metavar="TEXT",
                        help="the report must have no such note")
    parser.add_argument("--view", help="how peers' buffers must have been read")
    parser.add_argument("--moved", action="append", default=[], metavar="NAME",
                        help="the report must count bytes: heap_bytes or cma_bytes")
    parser.add_argument("--all-passed", action="store_true", help="weft must have taken no call")
    parser.add_argument("--all-taken", action="store_true",
                        help="weft must have taken calls of every collective")
    parser.add_argument("--ran", action="append", default=[], metavar="ALGORITHM",
                        help="weft must have taken calls by this one")
    parser.add_argument("--taken", metavar="NAMES",
                        help="weft must have taken calls of these collectives")
    parser.add_argument("--not-taken", metavar="NAMES",
                        help="weft must have taken no calls of these collectives, and some others")
    parser.add_argument("--none-passed", action="store_true",
                        help="weft must have taken every call")
    parser.add_argument("--like-plain", action="store_true",
                        help="run it plain, too: both must print the same")
    parser.add_argument("--refused", metavar="TEXT",
                        help="every rank that is not without weft must print 'weft: TEXT...', and "
                        "the job must fail")
    parser.add_argument("--ends-badly", action="store_true",
                        help="the job must fail, in time, and nothing of it may go on")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser.parse_args()


def environment():
    result = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    if os.geteuid() == 0:
        result["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
        result["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return result


def ranks_of(text):
    """Ranks of "0-1,3"."""
    for part in text.split(",") if text else []:
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def settings_of(arguments, settings, rank):
    own = dict(settings)
    if arguments.addon_of is not None and rank not in ranks_of(arguments.addon_of):
        own.pop("LD_PRELOAD" if arguments.addon else COMPONENT_PATH, None)
    if rank in ranks_of(arguments.disabled_on):
        own["WEFT_DISABLE"] = "1"
    return own


def words_before_program(arguments, rank):
    apart = arguments.apart != "launcher" and rank in ranks_of(arguments.apart)
    return ["unshare", *arguments.unshare.split(), "--"] if apart else []


def command(arguments, settings):
    """Ranks with the same settings are one part of the command line, parts are joined by colons."""
    openmpi = "openmpi" in os.path.basename(arguments.launcher)
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    words = [arguments.launcher] + (["--oversubscribe"] if openmpi else [])
    words += arguments.launcher_option
    if arguments.apart == "launcher":
        words = ["unshare", *arguments.unshare.split(), "--"] + words
    parts = itertools.groupby((settings_of(arguments, settings, rank),
                               words_before_program(arguments, rank))
                              for rank in range(arguments.ranks))
    for number, ((own, before), alike) in enumerate(parts):
        words += ([":"] if number else []) + ["-n", str(len(list(alike)))]
        for name, value in own.items():
            words += ["-x", f"{name}={value}"] if openmpi else ["-env", name, value]
        words += before + program
    return words


def run(arguments, settings):
    """(exit code, output, errors); the launcher is told to end its ranks when it takes too long."""
    with subprocess.Popen(command(arguments, settings), env=environment(), text=True,
                          errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=arguments.timeout)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                output, errors = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, errors = process.communicate()
            return "timeout", output, errors
    return process.returncode, output, errors


def judge_refusal(arguments, code, errors):
    lines = [line for line in errors.splitlines() if f"weft: {arguments.refused}" in line]
    if code in (0, "timeout"):
        yield f"exit code {code}, not a failure"
    with_weft = (set(range(arguments.ranks)) if arguments.addon_of is None
                 else set(ranks_of(arguments.addon_of)))
    with_weft -= set(ranks_of(arguments.disabled_on))
    if len(lines) != len(with_weft):
        yield f"{len(lines)} ranks, not {len(with_weft)}, said 'weft: {arguments.refused}...'"


def processes_of(folder):
    """Numbers of processes whose environment names `folder`."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if folder.encode() in file.read():
                        yield entry
        except OSError:
            pass


def judge_bad_end(code, folder):
    if code in (0, "timeout"):
        yield f"exit code {code}, not a failure"
    deadline = time.monotonic() + 10  # for the kernel, which ends them
    while (left := list(processes_of(folder))) and time.monotonic() < deadline:
        time.sleep(0.05)
    if left:
        yield f"processes {left} are left"


def judge_inert(arguments, errors, report):
    lines = [line for line in errors.splitlines() if "weft:" in line]
    wanted = 1 if arguments.says else 0
    if len(lines) != wanted or any(f"weft: {arguments.says}" not in line for line in lines):
        yield f"weft said {lines}, not {wanted} line of: {arguments.says}"
    if os.path.exists(report):
        yield "a report was written"


COLLECTIVES = {"alltoall", "broadcast", "scatter", "gather", "allgather", "barrier", "reduce",
               "allreduce", "reduce_scatter", "scan", "exscan"}


def judge_collectives(arguments, report):
    taken = {entry["collective"] for entry in report["collectives"] if entry["calls"] != 0}
    if arguments.all_taken and taken != COLLECTIVES:
        yield f"weft took no call of: {sorted(COLLECTIVES - taken)}"
    for name in arguments.taken.split(",") if arguments.taken else []:
        if name not in taken:
            yield f"weft took no call of {name}"
    ran = {entry["algorithm"] for entry in report["collectives"] if entry["calls"] != 0}
    for name in arguments.ran:
        if name not in ran:
            yield f"weft took no call by {name}, but by {sorted(ran)}"
    for name in arguments.not_taken.split(",") if arguments.not_taken else []:
        if name in taken:
            yield f"weft took calls of {name}"


def is_algorithm(ran, asked, collective):
    """Whether the algorithm that ran is the requested one, with its parameters in any order. An
    alltoallv without aggregate= may have any value of it, which weft chooses."""
    name, _, parameters = ran.partition(":")
    asked_name, _, asked_parameters = asked.partition(":")
    wanted, found = set(asked_parameters.split(",")), set(parameters.split(","))
    added = {parameter for parameter in found - wanted if parameter}
    if collective == "alltoallv" and "aggregate" not in asked_parameters:
        added = {parameter for parameter in added if not parameter.startswith("aggregate=")}
    return name == asked_name and not added and not wanted - found - {""}


def judge_algorithms(settings, report):
    """Calls of a collective whose algorithm is set must have run by that algorithm alone."""
    for collective in sorted(COLLECTIVES | {"alltoallv"}):
        asked = settings.get(f"WEFT_{collective.upper()}")
        if asked is None:
            continue
        ran = [entry["algorithm"] for entry in report["collectives"]
               if entry["collective"] == collective and entry["calls"] != 0]
        if not ran or not all(is_algorithm(name, asked, collective) for name in ran):
            yield f"{collective} ran by {sorted(ran)}, not by {asked} alone"


def check_schema(report):
    """jsonschema.ValidationError where a report is not as docs/report.schema.json says."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/report.schema.json")
    with open(page, encoding="utf-8") as file:
        jsonschema.validate(report, json.load(file))


def judge_report(arguments, settings, path):
    if not os.path.exists(path):
        yield "no report was written"
        return
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    print(json.dumps(report, indent=1))
    check_schema(report)
    calls = sum(entry["calls"] for entry in report["collectives"])
    crossed = sum(entry["messages"] for entry in report["collectives"])
    if arguments.all_passed and calls != 0:
        yield f"weft took {calls} calls"
    if not arguments.all_passed and calls == 0:
        yield "weft took no call"
    if arguments.view and report["views"] != [arguments.view]:
        yield f"peers' buffers were read by {report['views']}, not {arguments.view}"
    for name in arguments.moved:
        if report[name] == 0:
            yield f"{name} is 0"
    yield from judge_collectives(arguments, report)
    yield from judge_algorithms(settings, report)
    if arguments.device and crossed == 0:
        yield "nothing crossed the device"
    for text in arguments.note:
        if not any(text in note for note in report["notes"]):
            yield f"no note says: {text}"
    for text in arguments.no_note:
        if any(text in note for note in report["notes"]):
            yield f"a note says: {text}"
    if arguments.none_passed and report["passed"]:
        yield "calls were passed through"
    for why in arguments.passed:
        if not any(why in entry["why"] for entry in report["passed"]):
            yield f"no call was passed through for: {why}"


def judge(arguments):
    settings = dict(item.split("=", 1) for item in arguments.env)
    with tempfile.TemporaryDirectory(prefix="weft-test-") as folder:
        report = os.path.join(folder, "report.json")
        served = arguments.addon or arguments.linked or arguments.component
        if arguments.addon:
            settings["LD_PRELOAD"] = " ".join(filter(None, [arguments.before, arguments.addon,
                                                           arguments.behind]))
        if arguments.component:
            folder_of_component = os.path.dirname(os.path.abspath(arguments.component))
            settings[COMPONENT_PATH] = f"SYSTEM_DEFAULT:{folder_of_component}"
        if served:
            settings.setdefault("WEFT_REPORT", report)
            # Programs here are short, and weft is to be tested: from the first call on.
            settings.setdefault("WEFT_AFTER", "0")
        code, output, errors = run(arguments, settings)
        sys.stdout.write(output)
        sys.stderr.write(errors)
        if arguments.refused:
            yield from judge_refusal(arguments, code, errors)
            return
        if arguments.ends_badly:
            yield from judge_bad_end(code, folder)
            return
        if code == SKIPPED:
            sys.exit(SKIPPED)
        if code != 0:
            yield f"exit code {code}"
            return
        if arguments.inert:
            yield from judge_inert(arguments, errors, report)
            return
        if served and "weft:" in errors:
            yield "something was printed that nobody asked for"
        if served and settings["WEFT_REPORT"] == report:
            yield from judge_report(arguments, settings, report)
    if arguments.like_plain:
        code, plain, _ = run(arguments, {name: value for name, value in settings.items()
                                         if name not in ("LD_PRELOAD", COMPONENT_PATH)
                                         and not name.startswith("WEFT_")})
        if code != 0:
            yield f"exit code {code} of the plain run"
        elif plain != output:
            yield f"the plain run printed something else:\n{plain}"


def may_unshare(options):
    try:
        return subprocess.run(["unshare", *options.split(), "true"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def main():
    arguments = parse_arguments()
    if arguments.unshare and not may_unshare(arguments.unshare):
        print(f"skipped: unshare {arguments.unshare} is refused here")
        return SKIPPED
    faults = list(judge(arguments))
    for fault in faults:
        print(f"launch.py: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
