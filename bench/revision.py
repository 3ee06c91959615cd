"""The revision of this repository, to be recorded with figures."""
import pathlib
import subprocess


def git(*words):
    """What git prints; "" if it fails or is not installed."""
    root = pathlib.Path(__file__).resolve().parents[1]
    try:
        child = subprocess.run(["git", "-C", root, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except FileNotFoundError:
        return ""
    return child.stdout.strip() if child.returncode == 0 else ""


def commit():
    return git("rev-parse", "--short", "HEAD")


def has_changes():
    """Whether tracked files differ from the commit."""
    return git("status", "--porcelain", "--untracked-files=no") != ""
