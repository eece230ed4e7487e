"""How a script of tests ends: a closing line that counts its tests and names the skipped ones, and
77, which ctest shows as skipped, if none ran. The file that TRAINX_TEST_RECORD names gets a line of
JSON as each test begins and ends, as tests/support/test_results.cpp writes them."""
import json
import os
import sys
import time
import unittest

SKIPPED = 77                            # SKIP_RETURN_CODE of tests/CMakeLists.txt
# Not for test binaries that a test starts.
RECORD = os.environ.pop("TRAINX_TEST_RECORD", None)


def name_of(test):
    """CLASS.METHOD, as the command line takes it; what stands for a class that failed has an id."""
    method = getattr(test, "_testMethodName", None)
    return f"{type(test).__qualname__}.{method}" if method else test.id()


def note(**line):
    if RECORD:
        with open(RECORD, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class Result(unittest.TextTestResult):
    def __init__(self, *args, **how):
        super().__init__(*args, **how)
        self.ran, self.lost, self.whole, self.why = 0, set(), set(), {}
        self.began = time.monotonic()                       # 3.12.1 starts no skipped test

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        note(test=name_of(test), result="began")

    def addError(self, test, err):
        super().addError(test, err)
        self.lost.add(name_of(test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.lost.add(name_of(test))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.lost.add(name_of(test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.lost.add(name_of(test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        of = getattr(test, "test_case", test)           # of a subtest
        self.why.setdefault(name_of(of), reason)
        if of is test:
            self.whole.add(name_of(test))

    def stopTest(self, test):
        super().stopTest(test)
        name = name_of(test)
        skipped = name in self.whole and name not in self.lost
        self.ran += not skipped
        result = "failed" if name in self.lost else "skipped" if skipped else "passed"
        note(test=name, result=result, seconds=round(time.monotonic() - self.began, 3),
             why=self.why.get(name, ""))

    def closing_line(self):
        why = {}
        for name, reason in self.why.items():
            names = why.setdefault(reason, [])
            if self.ran or self.lost:
                names.append(name + ("" if name in self.whole else " (in part)"))
        return "tests: " + json.dumps({"ran": self.ran, "failed": len(self.lost),
                                       "skipped": len(self.whole - self.lost), "why": why})

    def exit_code(self):
        if not self.wasSuccessful():
            return 1
        return 0 if self.ran else SKIPPED if self.whole else 1


class Runner(unittest.TextTestRunner):
    resultclass = Result


def tests_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_in(test)
        else:
            yield test


def list_tests(module):
    """A line of JSON for each test, with what scripts/gpu_tests must know of it."""
    for test in tests_in(unittest.defaultTestLoader.loadTestsFromModule(module)):
        method = getattr(test, test._testMethodName)
        skips = next((of for of in (type(test), method)
                      if getattr(of, "__unittest_skip__", False)), None)
        print(json.dumps({
            "test": name_of(test),
            "alone": getattr(method, "alone", "") or getattr(type(test), "alone", ""),
            "parts": getattr(method, "parts", 1),
            "skipped": getattr(skips, "__unittest_skip_why__", "") if skips else ""}))


def main():
    if sys.argv[1:] == ["--list"]:
        list_tests(sys.modules["__main__"])
        sys.exit()
    result = unittest.main(verbosity=2, exit=False, testRunner=Runner).result
    print(result.closing_line(), flush=True)
    sys.exit(result.exit_code())
