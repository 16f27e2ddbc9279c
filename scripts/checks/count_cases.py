#!/usr/bin/env python3
"""count_cases.py JUNIT_FILE CTEST_EXIT_CODE: counts the cases inside the test programs that ctest ran.

A cmocka program and a TAP program print a line for each case; any other program counts as one case. A program that ended
badly counts as at least one failure, whatever it printed. The last line is the verdict scripts/test reads.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

OK = re.compile(r"^(?:\[       OK \] |ok \d+(?! .*# SKIP))", re.M)
BAD = re.compile(r"^(?:\[  (?:FAILED|ERROR )  \] [A-Za-z_][^:]*$|not ok \d+)", re.M)


def count(case):
    output = case.findtext("system-out") or ""
    if case.get("status") == "notrun" or case.get("status") == "disabled":
        skipped = case.find("skipped")
        skip = skipped is not None and "SKIP_RETURN_CODE" in skipped.get("message", "")
        return (0, 0) if skip else (0, 1)
    passed, failed = len(OK.findall(output)), len(set(BAD.findall(output)))
    if case.get("status") == "fail":
        return passed, max(failed, 1)
    return max(passed, 1), failed


def main():
    path, exit_code = sys.argv[1], int(sys.argv[2])
    try:
        cases = ElementTree.parse(path).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        print(f"count_cases: {path}: {error}")
        cases = []
    passed = failed = skipped = 0
    for case in cases:
        ok, bad = count(case)
        passed, failed = passed + ok, failed + bad
        skipped += ok == bad == 0
    if skipped:
        print(f"{skipped} test programs skipped themselves")
    if exit_code != 0 and failed == 0:
        print(f"ctest ended with {exit_code}")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
