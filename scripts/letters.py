"""Write src/superwords/demo/letters.csv: letters to a town council, made by a grammar, with planted differences.

    python scripts/letters.py

The letters, the town and its people are invented. `PREVALENCE`, `WORDING` and `TREND` are what an analysis should find;
the file holds the letters alone, and tests/test_cli_demo.py compares the findings with what was planted.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pandas as pd

SEED = 2224  # one whose letters have differences and trends close to those planted
N_LETTERS = 360
FIRST, LAST = date(2022, 1, 3), date(2024, 12, 20)
TARGET = Path(__file__).parents[1] / "src/superwords/demo/letters.csv"

AUTHORS = {
    "tenant": "Ada Whitlow, Bram Osei, Celia Marsh, Dov Hartmann, Esme Calloway, Farid Nasser, Greta Lindqvist, "
    "Hugo Pemberton, Ines Duarte, Jonah Reed, Kezia Brandt, Luca Ferro",
    "owner": "Maud Ellison, Niall Garvey, Olive Trench, Piers Aldous, Quentin Shaw, Rosa Villar, Stellan Moe, "
    "Thea Bancroft, Ursula Kent, Victor Lamb, Wanda Pryce, Yusuf Demir",
}
# The probability that a letter speaks of a subject, by household.
PREVALENCE = {
    "buses": {"tenant": 0.34, "owner": 0.30},
    "rents": {"tenant": 0.48, "owner": 0.12},
    "parking": {"tenant": 0.12, "owner": 0.40},
    "meals": {"tenant": 0.28, "owner": 0.28},
    "noise": {"tenant": 0.32, "owner": 0.32},
    "park": {"tenant": 0.30, "owner": 0.32},
}
TREND = {"meals": 0.40}  # the probability rises by this from the first day to the last, around its mean
WORDING = {"noise": {"tenant": ["pub", "drunks"], "owner": ["terrace", "guests"]}}
_OWN_WORD = 0.85  # the probability of the household's own word where there are two
_SPREAD = 0.25  # an author's own probability is the household's times a factor from 1 - _SPREAD to 1 + _SPREAD

# {a|b} is one of its parts; [a/b] is more often a in a tenant's letter and b in an owner's. A sentence that begins with
# T: is a tenant's, with O: an owner's.
OPENINGS = """
I am writing {again|once more|for the first time} {about|on account of} {what I see every week|what happens here}.
{Please|Kindly} {read|pass on} the following before the next meeting.
{Thank you|Many thanks} for the answer to my {last|earlier} letter, which {left some things open|did not settle much}.
I have lived here for {six|nine|eleven|fourteen|twenty} years and {rarely|seldom} complain.
{Several of us|A few people on our street} {asked|begged} me to write.
Nobody {answered|replied} when I {called|rang}, so I write instead.
"""
CLOSINGS = """
I {hope|trust} that {somebody will answer|this will be looked into}.
{Please|Kindly} {let me know|tell us} what you {intend|plan} to do.
{We|People here} deserve {better|an answer}.
I would be {glad|happy} to explain this in person.
{Thank you|Many thanks} for your time.
I shall come to the {next|coming} meeting and ask again.
"""
SUBJECTS = {
    "buses": """
The {first|early|morning} bus was {late|missing|cancelled} {again|three times this week|on Tuesday}.
The timetable at the bus stop {is a work of fiction|has not been true since spring|was changed without notice}.
A {single|return} ticket now costs more than the {petrol|taxi} for the same route.
The driver {drove past|did not see us at} the stop {in the rain|although we waved}.
Route {four|seven|nine|twelve} should run {every ten minutes|later in the evening|on Sundays}, and passengers know it.
Passengers {stand|wait} for {twenty|forty} minutes, and the delay is never announced.
The {bus shelter|shelter at the bus stop} has no {roof|bench|light}, and the timetable is unreadable.
If the bus company cannot find a driver, let it {say so|print an honest timetable}.
My {daughter|son|mother} missed {her connection|the train} because the bus was full.
The new ticket machine {rejects coins|swallowed my fare|is out of order}, and the driver sells no ticket.
The fare went up {twice|again} while the route was cut short.
A delay of {ten|fifteen} minutes is {normal|the rule} on this route, whatever the timetable says.
""",
    "rents": """
T: Our landlord has {raised|put up} the rent by {a tenth|a fifth|eighty a month} {without a reason|for the second time}.
The lease {ends|runs out} in {June|autumn|March}, and the landlord will not renew it.
T: {My|Our} deposit has not been returned {since the move|since we left the flat}.
O: I let a flat {myself|of my own}, and a {fair|modest} rent has always paid for the {boiler|repairs}.
O: As {the owner of a flat|one who lets a flat} I find the rent that this landlord asks {shameful|a disgrace}.
There is {mould|damp} in the {bedroom|kitchen} of the flat, and the landlord blames {us|the tenant}.
{A family|A neighbour|An old couple} in the next flat received an eviction notice.
The heating {failed|broke down} {in January|for a fortnight}, and the rent was due all the same.
A tenant who asks for a repair is {shown the door|given an eviction notice|told to read the lease}.
For a flat of {two|three} rooms the rent is now half of {a wage|what a nurse earns}.
The letting agent {keeps the deposit|asks for a new deposit|raises the rent} {whenever a lease is renewed|every year}.
We need a rent {register|cap|tribunal}, as other towns have, so that a landlord must {explain|justify} an increase.
An eviction costs the {council|town} more than a {fair|modest} rent {does|ever would}.
The tenant pays for the {boiler|heating}, the landlord keeps the flat, and the mould stays.
""",
    "parking": """
There is no parking {left|to be had} on {Mill Lane|our street|Church Road} after {five|six}.
The parking permit {costs|is priced at} {ninety|a hundred and twenty} a year and guarantees no space.
A {delivery van|camper|trailer} blocks my driveway {every morning|most days}, permit or not.
The new cycle lane took {forty|thirty} parking spaces from residents.
The warden {fines|tickets} residents with a permit and overlooks the {van|car} on the kerb.
Commuters leave the car on {our kerb|the kerb} and walk to the station, while residents look for a space.
The car park behind the {library|town hall} is empty because the {meter|barrier} is {broken|dear}.
Residents with a permit {circle|drive around} the block for {ten|twenty} minutes to find a space.
My driveway is {no turning place|not a loading bay}, whatever the van on the kerb believes.
Let visitors use the car park and give the parking on the street to residents with a permit.
The parking meter takes {no cards|coins only}, and the warden {waits|hides} behind it.
Residents should not need a second permit for {a carer's car|the plumber's van}.
""",
    "meals": """
The school meals are {cold by noon|served lukewarm|too small for a growing pupil}.
The canteen {threw away|binned} {half of the lunch|whole trays of pasta} {again|last week}, as every pupil saw.
A pupil whose parents {cannot pay|are late} sits in the canteen with {bread|an apple} for lunch.
Free school meals would cost {less than the fountain|a sum the council can find}.
The caterer {brings|sends} the same lunch {three days in a row|twice a week}, and every pupil knows it.
The school canteen has been {closed|locked|cold} since the {cook|caterer} {left|retired}.
No pupil learns without lunch, as every teacher in the school {says|knows}.
The lunch menu lists {salad|fruit}, and the canteen serves {crisps|pudding}.
The queue in the canteen is so long that a pupil has {ten|eight} minutes for lunch.
The caterer cooks {yesterday|at dawn} the lunch that a pupil eats {today|at one} in the canteen.
Let the canteen cook school meals again, with {fresh vegetables|a cook of its own}.
The canteen's payment {system|app} locks out parents {without a phone|who pay for lunch in cash}.
""",
    "noise": """
The noise from the [pub/terrace] {goes on|lasts} until {two|three} in the morning, {even on a weekday|and all weekend}.
The music {shakes|rattles} the windows, and {the children wake|nobody sleeps}.
I have {written down|noted} the noise {for a month|every night}, with the hour and the music played.
The police {come|came} after {an hour|midnight}, and the music is {off|down} for as long as they stay.
Sleep is {rare|scarce} here {in summer|from May to September}, because of the noise at night.
At {midnight|one} the shouting begins {below|outside} the bedroom window, and the [drunks/guests] sing.
The [pub/terrace] plays music at night that the whole street hears, and sleep is out of the question.
{Turn|Please turn} the music of the [pub/terrace] down at {ten|eleven}, as in other towns.
The police know the [pub/terrace] and its noise, and {shrug|do nothing}.
Each {Friday|Saturday} the [drunks/guests] of the [pub/terrace] wake the street, and the music goes on at night.
No {child|worker} can sleep at night while the [drunks/guests] shout under the window.
A loudspeaker outside the [pub/terrace] is {noise|music} that nobody asked for.
""",
    "park": """
The {old|great} trees in the park {were felled|are dying} {without a word|since the drought}.
The pond in the park {smells|is green} in summer, and the ducks {have left|are gone}.
Every {second|other} bench in the park is broken, and the gardener has {no spare planks|no time}.
The swing on the playground has been {taped off|without a seat} since {Easter|the storm}, and the gardener shrugs.
Dogs run {loose|free} on the meadow of the park where children {play|have their picnic}.
The gardener {cut|mowed} the meadow by the pond before the {flowers|wild flowers} could seed.
{Plant|Please plant} new trees in the park before the shade on the playground is gone.
The bins in the park {overflow|are full} after each sunny Sunday, and the pond gets the rest.
The path around the pond is {flooded|muddy} for half of the year, and the gardener knows it.
The trees hide the playground from the path, and the gardener {should|might} trim them.
A bench by the pond in the shade of the trees is all that {my mother|an old man} asks of a park.
The roses in the park {were stolen|wither}, and the gardener looks as tired as the meadow.
""",
}


@dataclass(frozen=True)
class Letter:
    """A letter and what it was made of."""

    author: str
    household: str
    day: date
    subjects: tuple[str, ...]
    text: str


def make_letters(seed: int = SEED, n_letters: int = N_LETTERS) -> list[Letter]:
    """Return the letters in the order of their dates."""
    rng = random.Random(seed)
    own = {
        name: {subject: rng.uniform(1 - _SPREAD, 1 + _SPREAD) for subject in SUBJECTS}
        for names in AUTHORS.values()
        for name in names.split(", ")
    }
    span = (LAST - FIRST).days
    days = sorted(rng.randint(0, span) for _ in range(n_letters))
    return [make_letter(rng, own, days[n] / span, FIRST + timedelta(days[n])) for n in range(n_letters)]


def make_letter(rng: random.Random, own: dict[str, dict[str, float]], elapsed: float, day: date) -> Letter:
    household = rng.choice(list(AUTHORS))
    author = rng.choice(AUTHORS[household].split(", "))
    subjects: list[str] = []
    while not 1 <= len(subjects) <= 3:
        subjects = [name for name in SUBJECTS if rng.random() < own[author][name] * chance(name, household, elapsed)]
    rng.shuffle(subjects)
    return Letter(author, household, day, tuple(subjects), write_letter(rng, household, subjects))


def chance(subject: str, household: str, elapsed: float) -> float:
    return PREVALENCE[subject][household] + TREND.get(subject, 0.0) * (elapsed - 0.5)


def write_letter(rng: random.Random, household: str, subjects: list[str]) -> str:
    sentences = [expand(rng, rng.choice(lines(OPENINGS)), household)]
    most = {1: 5, 2: 3, 3: 2}[len(subjects)]
    for subject in subjects:
        chosen = choose_lines(rng, lines(SUBJECTS[subject]), household[0].upper() + ": ", most)
        sentences += [expand(rng, line, household) for line in chosen]
    sentences.append(expand(rng, rng.choice(lines(CLOSINGS)), household))
    return " ".join(sentences)


def choose_lines(rng: random.Random, known: list[str], mark: str, most: int) -> list[str]:
    """Return sentences of a subject that fit the household."""
    own = [line.removeprefix(mark) for line in known if line.startswith(mark)]
    return rng.sample([line for line in known if line[1] != ":"] + own, rng.randint(most - 1, most))


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def expand(rng: random.Random, line: str, household: str) -> str:
    """Replace each {a|b} and each [a/b] by one of its parts."""

    def choose_word(found: re.Match[str]) -> str:
        is_first = (household == "tenant") == (rng.random() < _OWN_WORD)
        return found.group(1).split("/")[0 if is_first else 1]

    line = re.sub(r"\[([^\[\]]*)\]", choose_word, line)
    out = re.sub(r"\{([^{}]*)\}", lambda found: rng.choice(found.group(1).split("|")), line)
    return out[0].upper() + out[1:]


def as_table(letters: list[Letter]) -> pd.DataFrame:
    rows = [
        {"id": f"letter {n}", "author": one.author, "household": one.household, "date": one.day.isoformat()}
        | {"text": one.text}
        for n, one in enumerate(letters, 1)
    ]
    return pd.DataFrame(rows)


if __name__ == "__main__":
    as_table(make_letters()).to_csv(TARGET, index=False, lineterminator="\n")
    print(f"{TARGET}: {N_LETTERS} letters")
