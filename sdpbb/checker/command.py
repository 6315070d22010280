"""Command line of the checker as a program of its own, which needs Python and NumPy only."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from .kernel.certificate import Certificate
from .kernel.rejection import Rejected
from .kernel.stated import StatedInstance
from .reading import Unreadable, opened, read_points, read_weights, with_constraints
from .verify import verify

VERIFIED, REJECTED, UNREADABLE = 0, 1, 2

_DESCRIPTION = """Check a certificate of sdpbb: prove its claim about a clustering problem again,
without the solver. The rounding of every number is accounted for. The verdict states what is
proven, including the number of clusters."""


def main(arguments: Sequence[str]) -> int:
    """Check a certificate and tell the verdict; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        with opened(options.certificate) as file:
            points = read_points(options.points)
            weights = None if options.weights is None else read_weights(options.weights)
            certificate = Certificate.load(file)
            k = certificate.k if options.k is None else options.k
            stated = StatedInstance(points, k, weights=weights)
            if options.constraints is not None:
                stated = with_constraints(stated, options.constraints)
            verdict = verify(certificate, stated, options.workers, options.exact)
    except Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return UNREADABLE
    except ImportError:
        print("error: --exact needs python-flint: pip install python-flint", file=sys.stderr)
        return UNREADABLE
    except Rejected as error:
        if options.json:
            print(json.dumps({"verified": False, "reason": str(error)}))
        print(f"{options.certificate}: rejected: {error}", file=sys.stderr)
        return REJECTED
    if options.gap is not None:
        verdict = verdict.judged(options.gap)
    print(json.dumps(verdict.to_dict()) if options.json else verdict)
    return VERIFIED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="checker",
        description=_DESCRIPTION,
        epilog="exit status: 0 verified, 1 rejected, 2 wrong usage or an unreadable file",
    )
    parser.add_argument("certificate", metavar="CERTIFICATE", help="the file to check")
    parser.add_argument(
        "points",
        metavar="POINTS",
        help="a NumPy array (.npy), or a line per point, numbers separated by commas or blanks",
    )
    parser.add_argument(
        "--constraints",
        metavar="FILE",
        help="lines 'ML i j' and 'CL i j', or 'i j 1' and 'i j -1', points numbered from 0; "
        "soft pairs, 'SML i j w' and 'SCL i j w'; and on clusters, as sdpbb has them",
    )
    parser.add_argument(
        "--weights",
        metavar="FILE",
        help="weights of the points: a NumPy array (.npy), or a number on a line for each",
    )
    parser.add_argument(
        "--k", type=int, metavar="K", help="reject a certificate of another number of clusters"
    )
    parser.add_argument(
        "--gap",
        type=_gap,
        metavar="G",
        help="call a clustering optimal if its proven gap is at most this, in [0, 1), and else "
        "feasible (default: as the certificate says)",
    )
    parser.add_argument(
        "--workers",
        type=_workers,
        default=1,
        metavar="N",
        help="threads, each of which checks one subset at a time where a certificate is about "
        "subsets (default: 1)",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="calculate with balls, which python-flint has; takes longer",
    )
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    return parser


def _workers(text: str) -> int:
    workers = int(text)
    if workers < 1:
        raise ValueError
    return workers


def _gap(text: str) -> float:
    gap = float(text)
    if not 0.0 <= gap < 1.0:
        raise ValueError
    return gap
