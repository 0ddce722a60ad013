"""The table: facts, which pass, fail or are skipped, and budgets, which are met or missed.

A fact is a sentence that is true of the product; a failure is printed as "expected …, seen …".
Budgets depend on the machine, so they are printed beside the facts and not counted with them.
"""

import sys
import time

PASSED, FAILED, SKIPPED = "ok", "FAIL", "skip"
START = time.monotonic()


class Table:
    def __init__(self):
        self.count = {PASSED: 0, FAILED: 0, SKIPPED: 0}
        self.failures = []
        self.budgets = {"met": 0, "MISSED": 0}

    def heading(self, text):
        print("\n== %s (%.0f s)" % (text, self.seconds()), flush=True)

    def row(self, result, sentence, seen=""):
        self.count[result] += 1
        print("%-4s  %s%s" % (result, sentence, ": " + seen if seen else ""), flush=True)
        if result == FAILED:
            self.failures.append("%s: %s" % (sentence, seen))

    def fact(self, sentence, true, expected, seen):
        """@expected and @seen are reported when it fails; @seen also when it passes and is not True."""
        if true:
            self.row(PASSED, sentence, "" if seen is True else str(seen))
        else:
            self.row(FAILED, sentence, "expected %s, seen %s" % (expected, seen))
        return bool(true)

    def equal(self, sentence, got, want):
        return self.fact(sentence, got == want, want, got)

    def skip(self, sentence, reason):
        self.row(SKIPPED, sentence, reason)

    def note(self, text):
        print("      %s" % text, flush=True)

    def budget(self, what, value, unit, limit, spread=""):
        """A row of the budgets; @limit None: it is there to be compared with."""
        if limit is None:
            verdict = ""
        else:
            word = "met" if value <= limit else "MISSED"
            self.budgets[word] += 1
            verdict = "%s (at most %g)" % (word, limit)
        print("%-58s %10.2f %-7s %-22s %s" % (what, value, unit, spread, verdict), flush=True)

    @staticmethod
    def seconds():
        """Since the run began."""
        return time.monotonic() - START

    def end(self):
        """Prints the sums; the exit status of the run."""
        print()
        for failure in self.failures:
            print("failed: %s" % failure)
        print("budgets: %(met)d met, %(MISSED)d missed" % self.budgets)
        print("%d s" % self.seconds())
        print(
            "%d passed, %d failed, %d skipped"
            % (self.count[PASSED], self.count[FAILED], self.count[SKIPPED])
        )
        sys.stdout.flush()
        return 1 if self.count[FAILED] or not self.count[PASSED] else 0
