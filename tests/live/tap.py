"""Cases that report in the Test Anything Protocol.

    @case("a sentence that is true of the product")
    def _():
        equal(got, want)

    run_cases()    # at the foot of the file

A case fails by raising AssertionError (expect, equal, near), is left out by raising Skip, and may
say more with note(). Cases run in the order of their definition; `FILE BUILD WORDS` runs only those
whose sentence holds WORDS.
"""

import sys
import time
import traceback

CASES = []
NOTES = []


class Skip(Exception):
    """The case cannot be tried here; the text is the reason."""


def case(sentence, tries=1):
    """A case that measures may be given more tries: where the machine stole the CPU from a program
    between two of its own clock readings, its truth is off; what the product gets wrong it gets
    wrong again."""

    def add(function):
        CASES.append((sentence, function, tries))
        return function

    return add


def note(text):
    """A line beside the result of the case that is running."""
    NOTES.append(str(text))


def expect(true, text):
    if not true:
        raise AssertionError(text)


def equal(got, want, what="value"):
    if got != want:
        raise AssertionError("%s is %.2000r, not %.2000r" % (what, got, want))


def near(got, want, tolerance, what):
    note("%s: %.4f, truth %.4f, within %.4f" % (what, got, want, tolerance))
    if abs(got - want) > tolerance:
        raise AssertionError("%s is %.4f, not %.4f to within %.4f" % (what, got, want, tolerance))


def try_once(function):
    """(passed, TAP directive, what went wrong)"""
    try:
        function()
    except Skip as reason:
        return True, " # SKIP %s" % reason, ""
    except AssertionError as failure:
        return False, "", str(failure)
    except Exception:  # a case that breaks is a case that fails
        return False, "", traceback.format_exc()
    return True, "", ""


def run_one(number, sentence, function, tries):
    del NOTES[:]
    start = time.monotonic()
    for left in range(tries - 1, -1, -1):
        passed, directive, wrong = try_once(function)
        if passed or not left:
            break
        note("once more, after: %s" % wrong)
    print("%s %d - %s%s" % ("ok" if passed else "not ok", number, sentence, directive))
    note("%.1f s" % (time.monotonic() - start))
    for line in (wrong + "\n" + "\n".join(NOTES)).strip().splitlines():
        print("#   " + line)
    sys.stdout.flush()
    return passed


def run_cases():
    words = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = [c for c in CASES if words in c[0]]
    if not chosen:
        sys.exit("no case has these words: %s" % words)
    print("1..%d" % len(chosen))
    good = [run_one(i, *c) for i, c in enumerate(chosen, 1)]
    sys.exit(0 if all(good) else 1)
