"""The measured values, by measure, case and tool."""

import csv
import statistics


class Samples:
    def __init__(self):
        self.values = {}  # (measure, case, who) -> values
        self.units = {}
        self.notes = {}   # the same -> a remark beside the number

    def add(self, measure, case, who, unit, *values):
        key = (measure, str(case), who)
        self.units[key] = unit
        self.values.setdefault(key, []).extend(values)

    def note(self, measure, case, who, text):
        self.notes[measure, str(case), who] = text

    def median(self, measure, case, who):
        values = self.values.get((measure, str(case), who))
        return statistics.median(values) if values else None

    def worst(self, measure, case, who):
        values = self.values.get((measure, str(case), who))
        return max(values) if values else None

    def row(self, key):
        """n, lower quartile, median, upper quartile"""
        values = self.values[key]
        if len(values) == 1:
            return 1, values[0], values[0], values[0]
        return (len(values), *statistics.quantiles(values, n=4, method="inclusive"))

    def write(self, folder):
        with open(folder / "medians.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["measure", "case", "who", "unit", "n", "lower quartile", "median", "upper quartile", "note"])
            for key, unit in self.units.items():
                count, *quartiles = self.row(key)
                writer.writerow([*key, unit, count, *(f"{value:.6g}" for value in quartiles), self.notes.get(key, "")])
        with open(folder / "samples.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["measure", "case", "who", "unit", "value"])
            for key, unit in self.units.items():
                writer.writerows([*key, unit, f"{value:.6g}"] for value in self.values[key])
