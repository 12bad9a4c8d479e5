# SPDX-License-Identifier: MIT
"""Reads raw figures of the bench commands; writes docs/results.md and its pictures. bench/report is the command."""
