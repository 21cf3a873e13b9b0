"""The measured values, and tables of them."""

import statistics


class Results:
    """The measured values, by table, case and tool."""

    def __init__(self):
        self.values, self.notes = {}, {}

    def add(self, table, case, who, *values):
        self.values.setdefault((table, case, who), []).extend(values)

    def note(self, table, case, who, text):
        self.notes[table, case, who] = text

    def write(self, path):
        """Writes a line for each value: table, case, tool, value."""
        with open(path, "w") as file:
            for key, values in self.values.items():
                file.writelines("\t".join([*key, f"{value:.6g}"]) + "\n" for value in values)

    def cell(self, key):
        """The median, and the quartiles if they differ."""
        values = self.values.get(key)
        if not values:
            return ""
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        return number(middle) + (f" ({number(low)} to {number(high)})" if number(low) != number(high) else "")

    def table(self, title):
        keys = [key for key in self.values if key[0] == title]
        cases, names = (list(dict.fromkeys(key[part] for key in keys)) for part in (1, 2))
        lines = ["", f"## {title}", "", f"| | {' | '.join(cases)} |", f"|{' --- |' * (len(cases) + 1)}"]
        lines += [f"| {who} | {' | '.join(self.cell((title, case, who)) for case in cases)} |" for who in names]
        return lines + [""] + [f"- {who}, {case}: {text}" for (of, case, who), text in self.notes.items() if of == title]


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
