"""A program of a user, which test_types.py checks by mypy --strict. It is not run."""

from __future__ import annotations

import pathlib

import tessera

people = tessera.example(300, seed=1)
model: tessera.Model = tessera.fit(people, epochs=1, rules=["age >= 18"], calibrate="off")
rows = model.sample(100, where="age >= 40")
report = tessera.evaluate(people, rows)
quality: float = report.scores["quality"]
print(report.columns, report.rules)
page: str | None = report.to_html(model=model)
compared = tessera.evaluate(people, {"first": rows, "second": rows}, c2st=False)
one: tessera.Report = compared["first"]
names: list[str] = list(compared)
for part in model.sample_iter(40, 100):
    print(len(part))
synthesizer = tessera.TVAE(epochs=1, random_state=0).fit(people)
print(synthesizer.sample(10))
model.save(pathlib.Path("people.tessera"), overwrite=True)
schema: tessera.Schema = tessera.load("people.tessera").schema


def hear(progress: tessera.Progress) -> None:
    print(progress.phase)


try:
    tessera.fit(people, epochs=1, progress=hear)
except tessera.DataError as error:
    print(error)
