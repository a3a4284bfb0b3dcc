"""Rival packages, one short adapter each, run in processes and an environment of their own.

A problem is handed over as a folder of .npy files (`handover`). A process per peer (`serve`, or glmnet.R) reads it,
runs the peer once on a tiny problem, and then answers tolerances with seconds and coefficients (`session`).
`run_peer` does all of it in one call, and judges the answer by duality gaps over all columns (`accuracy`).
"""

from .run import PeerPath, run_peer
from .session import PEERS, PeerError, why_missing

__all__ = ["PEERS", "PeerError", "PeerPath", "run_peer", "why_missing"]
