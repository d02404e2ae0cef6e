"""Writes tables as offices have them, whose columns follow from each other: invoices.csv, patients.csv, shop.csv.

    python3 bench/tables/rules.py FOLDER

What holds in every row: the formulas below. bench/rules.sh measures how many sampled rows keep it.
"""
import csv
import datetime
import os
import random
import sys


def write(folder, name, header, rows):
    with open(os.path.join(folder, name), "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(header.split())
        out.writerows(rows)


def later(date, days):
    return (date + datetime.timedelta(days=days)).isoformat()


def invoices(r):
    for i in range(6000):
        date = datetime.date(2022, 1, 3) + datetime.timedelta(days=int(900 * r.random() ** 0.7))
        while date.weekday() > 4:
            date += datetime.timedelta(days=1)
        quantity, price = r.choice([1, 1, 1, 2, 2, 3, 4, 5, 10, 12]), r.choice([4.99, 9.95, 12.5, 19.9, 49, 99, 149.5])
        discount, rate, terms = r.choice([0, 0, 0, 0, 5, 10, 15]), r.choice([19, 19, 19, 7]), r.choice([14, 30, 30, 60])
        net = round(quantity * price * (1 - discount / 100), 2)
        vat = round(net * rate / 100, 2)
        status = r.choices(["paid", "open", "cancelled"], [80, 14, 6])[0]
        paid = later(date, max(0, int(r.gauss(terms - 3, 8)))) if status == "paid" else ""
        cancelled = later(date, r.randint(0, 10)) if status == "cancelled" else ""
        time = f"{r.choice([8, 9, 9, 10, 10, 11, 13, 14, 15, 16]):02d}:{r.randint(0, 59):02d}"
        yield (f"INV-{2022000 + i}", date.isoformat(), time, quantity, f"{price:.2f}", discount, f"{net:.2f}", rate,
               f"{vat:.2f}", f"{net + vat:.2f}", terms, later(date, terms), status, paid, cancelled)


def patients(r):
    chapters = {"I": "Circulatory", "E": "Endocrine", "J": "Respiratory", "K": "Digestive", "F": "Mental"}
    for i in range(5000):
        sex, age = r.choice("MF"), min(95, max(18, int(r.gauss(52, 17))))
        height = round(r.gauss(178 if sex == "M" else 165, 7))
        weight = round(r.gauss(82 if sex == "M" else 69, 13) + 0.15 * (age - 50), 1)
        bmi = round(weight / (height / 100) ** 2, 1)
        group = "<30" if age < 30 else "30-49" if age < 50 else "50-69" if age < 70 else "70+"
        systolic = round(r.gauss(105 + 0.5 * age + 0.6 * (bmi - 25), 12))
        diastolic = min(systolic - 15, round(r.gauss(0.45 * systolic + 20, 7)))
        code = r.choice(["I10", "E11.9", "J45.0", "K21.9", "F32.1"])
        admitted = datetime.datetime(2023, 1, 1) + datetime.timedelta(minutes=r.randint(0, 525600))
        discharged = admitted + datetime.timedelta(days=max(1, int(r.expovariate(1 / 4))), minutes=r.randint(-300, 300))
        yield (100000 + i, sex, age, group, height, f"{weight:.1f}", f"{bmi:.1f}", systolic, diastolic,
               systolic - diastolic, code, chapters[code[0]], admitted, discharged)


def shop(r):
    cities = [("Boston", "MA"), ("Austin", "TX"), ("Denver", "CO"), ("Miami", "FL"), ("Reno", "NV")]
    customers = [(f"C{i:05d}", *r.choice(cities), r.choice(["gold", "silver", "bronze"])) for i in range(1500)]
    products = [(f"SKU-{1000 + i}", r.choice(["Home", "Office", "Garden"]), round(r.lognormvariate(3, 0.8), 2))
                for i in range(300)]
    for i in range(24000):
        sku, category, price = r.choice(products)
        quantity = r.choice([1, 1, 1, 2, 2, 3, 5])
        date = datetime.date(2023, 1, 1) + datetime.timedelta(days=r.randint(0, 600))
        yield (f"O{i + 1:07d}", date, *r.choice(customers), sku, category, quantity, f"{quantity * price:.2f}")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    write(folder, "invoices.csv", "invoice date time quantity price discount net vat_rate vat gross terms due status "
          "paid_on cancelled_on", invoices(random.Random(7)))
    write(folder, "patients.csv", "id sex age age_group height_cm weight_kg bmi systolic diastolic pulse_pressure icd10 "
          "chapter admitted discharged", patients(random.Random(7)))
    write(folder, "shop.csv", "order date customer city state tier sku category quantity amount",
          shop(random.Random(5)))


if __name__ == "__main__":
    main()
