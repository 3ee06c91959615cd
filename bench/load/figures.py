"""Percentiles, confidence intervals, slopes, and the CPU and memory use of processes."""
import math
import os
import resource
import statistics

# Two-sided 95 % quantiles of Student's t, by degrees of freedom from 1.
STUDENT = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042
]


def percentiles(values, shares=(50, 95, 99)):
    """The percentiles `shares` of values; NaN if there are no values."""
    ordered = sorted(values)
    if not ordered:
        return [math.nan] * len(shares)
    return [ordered[min(len(ordered) - 1, math.ceil(share / 100 * len(ordered)) - 1)] for share in shares]


def ratio_interval(ratios):
    """The geometric mean of ratios and its 95 % interval, which is unbounded for a single ratio."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), 0.0, math.inf
    quantile = STUDENT[len(logs) - 2] if len(logs) - 2 < len(STUDENT) else 1.96
    half = quantile * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def slope(samples):
    """The slope of the least-squares line through samples (x, y); NaN for fewer than 3."""
    if len(samples) < 3:
        return math.nan
    xs, ys = zip(*samples)
    return statistics.linear_regression(xs, ys).slope


def own_cpu():
    """CPU seconds used by this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def cpu_of(pid):
    """CPU seconds used by another process; None if they cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
    except (OSError, TypeError):
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    """Resident memory of a process in MiB; None if it cannot be read."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    except OSError:
        return None
