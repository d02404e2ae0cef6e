// Frequent names of persons: the most frequent of the United States census of 1990, which is in the public domain
// (https://www.census.gov/topics/population/genealogy/data/1990_census.html).
#pragma once
#include <array>
#include <string_view>

namespace tessera {

constexpr std::array<std::string_view, 128> kFirstNames{
    "James",    "John",      "Robert",   "Michael",  "William", "David",     "Richard",  "Charles",   "Joseph",
    "Thomas",   "Daniel",    "Paul",     "Mark",     "Donald",  "George",    "Kenneth",  "Steven",    "Edward",
    "Brian",    "Ronald",    "Anthony",  "Kevin",    "Jason",   "Matthew",   "Gary",     "Timothy",   "Jose",
    "Larry",    "Jeffrey",   "Frank",    "Scott",    "Eric",    "Stephen",   "Andrew",   "Raymond",   "Gregory",
    "Joshua",   "Jerry",     "Dennis",   "Walter",   "Patrick", "Peter",     "Harold",   "Douglas",   "Henry",
    "Carl",     "Arthur",    "Ryan",     "Roger",    "Joe",     "Juan",      "Jack",     "Albert",    "Jonathan",
    "Justin",   "Terry",     "Gerald",   "Keith",    "Samuel",  "Willie",    "Ralph",    "Lawrence",  "Nicholas",
    "Benjamin", "Mary",      "Patricia", "Linda",    "Barbara", "Elizabeth", "Jennifer", "Maria",     "Susan",
    "Margaret", "Dorothy",   "Lisa",     "Nancy",    "Karen",   "Betty",     "Helen",    "Sandra",    "Donna",
    "Carol",    "Ruth",      "Sharon",   "Michelle", "Laura",   "Sarah",     "Kimberly", "Deborah",   "Jessica",
    "Shirley",  "Cynthia",   "Angela",   "Melissa",  "Brenda",  "Amy",       "Anna",     "Rebecca",   "Virginia",
    "Kathleen", "Pamela",    "Martha",   "Debra",    "Amanda",  "Stephanie", "Carolyn",  "Christine", "Marie",
    "Janet",    "Catherine", "Frances",  "Ann",      "Joyce",   "Diane",     "Alice",    "Julie",     "Heather",
    "Teresa",   "Doris",     "Gloria",   "Evelyn",   "Jean",    "Cheryl",    "Mildred",  "Katherine", "Joan",
    "Ashley",   "Judith"};

constexpr std::array<std::string_view, 128> kLastNames{
    "Smith",    "Johnson",   "Williams", "Jones",     "Brown",    "Davis",     "Miller",   "Wilson",   "Moore",
    "Taylor",   "Anderson",  "Thomas",   "Jackson",   "White",    "Harris",    "Martin",   "Thompson", "Garcia",
    "Martinez", "Robinson",  "Clark",    "Rodriguez", "Lewis",    "Lee",       "Walker",   "Hall",     "Allen",
    "Young",    "Hernandez", "King",     "Wright",    "Lopez",    "Hill",      "Scott",    "Green",    "Adams",
    "Baker",    "Gonzalez",  "Nelson",   "Carter",    "Mitchell", "Perez",     "Roberts",  "Turner",   "Phillips",
    "Campbell", "Parker",    "Evans",    "Edwards",   "Collins",  "Stewart",   "Sanchez",  "Morris",   "Rogers",
    "Reed",     "Cook",      "Morgan",   "Bell",      "Murphy",   "Bailey",    "Rivera",   "Cooper",   "Richardson",
    "Cox",      "Howard",    "Ward",     "Torres",    "Peterson", "Gray",      "Ramirez",  "James",    "Watson",
    "Brooks",   "Kelly",     "Sanders",  "Price",     "Bennett",  "Wood",      "Barnes",   "Ross",     "Henderson",
    "Coleman",  "Jenkins",   "Perry",    "Powell",    "Long",     "Patterson", "Hughes",   "Flores",   "Washington",
    "Butler",   "Simmons",   "Foster",   "Gonzales",  "Bryant",   "Alexander", "Russell",  "Griffin",  "Diaz",
    "Hayes",    "Myers",     "Ford",     "Hamilton",  "Graham",   "Sullivan",  "Wallace",  "Woods",    "Cole",
    "West",     "Jordan",    "Owens",    "Reynolds",  "Fisher",   "Ellis",     "Harrison", "Gibson",   "Mcdonald",
    "Cruz",     "Marshall",  "Ortiz",    "Gomez",     "Murray",   "Freeman",   "Wells",    "Webb",     "Simpson",
    "Stevens",  "Tucker"};

}  // namespace tessera
