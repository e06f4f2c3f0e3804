"""The study's server: whole votes only, once each, from its own page only, whatever is sent to it."""

from __future__ import annotations

import random
import socket
import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from study_for_tests import WORDS, Participant, served, served_here, small_study, unescaped_text
from superwords.errors import InputError
from superwords.study import server
from superwords.study.results import results
from superwords.study.votes import VoteStore
from superwords.web.serving import listen

CHOSEN = ("concept",) * 6 + ("topic",) * 3 + ("neither",)


@pytest.fixture
def store(tmp_path) -> VoteStore:
    return VoteStore.for_study(tmp_path / "study.votes", small_study())


@pytest.fixture
def client(store: VoteStore) -> Iterator[httpx.Client]:
    with served_here(store) as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


@pytest.fixture
def participant(client: httpx.Client) -> Participant:
    return Participant(client, small_study())


def test_a_whole_vote_is_stored_and_thanked(participant: Participant, store: VoteStore) -> None:
    answer = participant.send(participant.fields(CHOSEN, "no", "headlines"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/thanks")
    assert "Your answers are stored" in participant.client.get("/thanks").text
    (vote,) = store.votes()
    assert (vote.follows, vote.attention, vote.preferred) == (False, "headlines", CHOSEN)


def test_a_participant_votes_once(participant: Participant, store: VoteStore) -> None:
    fields = participant.fields(CHOSEN)
    assert participant.send(fields).status_code == 303
    assert participant.send(fields).status_code == 409
    assert "each person votes once" in participant.client.get("/").text
    assert len(store.votes()) == 1


@pytest.mark.parametrize("field", ["follows", "attention", "q1", "q10"])
@pytest.mark.parametrize("value", [None, "", "both", "<script>"])
def test_nothing_is_accepted_half_filled(
    participant: Participant, store: VoteStore, field: str, value: str | None
) -> None:
    fields = {**participant.fields(CHOSEN), field: value}
    answer = participant.send({name: given for name, given in fields.items() if given is not None})
    assert answer.status_code == 422
    assert f'<a href="#{field}">' in answer.text
    assert answer.text.count("<li>") == 1
    # The other answers are kept, and the first place to fill has the focus.
    assert answer.text.count(" checked") == 11
    assert answer.text.count(" autofocus") == 1
    assert answer.text.partition(" autofocus")[0].rpartition("<fieldset")[2].startswith(f' id="{field}"')
    assert store.votes() == []


def test_an_answer_given_twice_is_no_answer(participant: Participant, store: VoteStore) -> None:
    fields = {**participant.fields(CHOSEN), "q3": ["first", "second"]}
    assert participant.send(fields).status_code == 422
    assert store.votes() == []


def test_the_page_asks_every_question_in_text_that_is_never_markup(participant: Participant) -> None:
    page = participant.page
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    text = unescaped_text(page)
    assert "Clouds & <i>words</i>" in text
    for word in WORDS:
        assert word in text
    assert page.count("Which word cloud describes") == 10
    assert page.count("No difference") == 10
    assert page.count('type="radio"') == 2 + 3 + 30
    assert page.count(" required") == 35
    assert page.count('alt="care, mine0, &lt;b&gt;bold&lt;/b&gt;"') == 1


def test_the_page_does_not_tell_which_cloud_is_the_concepts(participant: Participant) -> None:
    assert "concept" not in participant.page
    assert "topic" not in participant.page
    assert "superwords" not in participant.page


def test_sides_are_random_over_people_and_questions_but_stay(participant: Participant, store: VoteStore) -> None:
    pages = server.StudyPages(small_study(), store)
    seen = [[pages.sides(f"person {n}", q)[0] == "concept" for q in range(1, 11)] for n in range(400)]
    for question in zip(*seen):
        assert 140 <= sum(question) <= 260
    assert len(set(map(tuple, seen))) > 250
    assert Participant(participant.client, small_study()).concept_first == participant.concept_first


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_cross_site_posts_are_refused(participant: Participant, store: VoteStore, headers: dict) -> None:
    assert participant.send(participant.fields(CHOSEN), **headers).status_code == 403
    assert store.votes() == []


def test_our_own_pages_post_is_taken(participant: Participant) -> None:
    headers = {"Origin": str(participant.client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert participant.send(participant.fields(CHOSEN), **headers).status_code == 303


@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
def test_a_post_needs_the_token_of_its_own_page(participant: Participant, store: VoteStore, token: str) -> None:
    assert participant.send({**participant.fields(CHOSEN), "token": token}).status_code == 403
    assert store.votes() == []


@pytest.mark.parametrize("cookie", [None, "made.up", "x", "é.é"])
def test_a_cookie_that_is_not_ours_counts_as_none(
    participant: Participant, store: VoteStore, cookie: str | None
) -> None:
    name = next(iter(participant.client.cookies))
    participant.client.cookies.clear()
    headers = {} if cookie is None else {"Cookie": f"{name}={cookie}".encode()}
    answer = participant.send(participant.fields(CHOSEN), **headers)
    assert answer.status_code == 403
    assert "cookie" in answer.text
    assert store.votes() == []


def test_the_cookie_is_hidden_from_scripts_and_other_sites(client: httpx.Client) -> None:
    cookie = client.get("/").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/study.js", "/cloud/x.png", "/vote"])
def test_every_answer_has_the_safe_headers(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"


def test_pictures_and_static_files_are_served_and_nothing_else(client: httpx.Client) -> None:
    name = small_study()["questions"][0]["concept"]["name"]
    assert client.get(f"/cloud/{name}.png").content.startswith(b"\x89PNG")
    for file in ("study.css", "study.js", "icon.svg"):
        assert client.get(f"/static/{file}").status_code == 200
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/%00", "/cloud/..%2f..%2fx.png"):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (404, "There is no such page.\n")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"method": "GET", "url": "/vote"}, 405),
        ({"method": "DELETE", "url": "/"}, 405),
        ({"method": "POST", "url": "/vote", "content": b"x" * 20_000}, 413),
        ({"method": "POST", "url": "/vote", "content": (b"x" * 1000 for _ in range(50))}, 413),
        ({"method": "POST", "url": "/vote", "json": {"q1": "first"}}, 415),
        ({"method": "POST", "url": "/vote", "files": {"a": b"b"}}, 415),
        ({"method": "POST", "url": "/vote", "data": {}}, 415),
        ({"method": "POST", "url": "/vote", "data": {"a": "b"}}, 403),
        ({"method": "POST", "url": "/vote", "data": {f"f{i}": "1" for i in range(1500)}}, 400),
        ({"method": "GET", "url": "/", "headers": {"Host": "evil.example"}}, 400),
        ({"method": "GET", "url": "/", "headers": {"Host": "[::"}}, 400),
    ],
)
def test_an_odd_request_gets_a_short_answer(client: httpx.Client, request_: dict, status: int) -> None:
    answer = client.request(**request_)
    assert answer.status_code == status
    assert len(answer.text) < 120
    assert "/" not in answer.text
    assert "Traceback" not in answer.text
    assert client.get("/").status_code == 200


def test_a_store_that_fails_says_so_and_the_server_stays(participant: Participant, store: VoteStore, tmp_path) -> None:
    kept = store.path.rename(tmp_path / "away")
    answer = participant.send(participant.fields(CHOSEN))
    assert (answer.status_code, "send them again" in answer.text) == (503, True)
    shown = participant.client.get("/")
    assert (shown.status_code, str(tmp_path) in shown.text) == (500, False)
    kept.rename(store.path)
    assert participant.send(participant.fields(CHOSEN)).status_code == 303


def test_participants_from_elsewhere_need_the_studys_own_link(store: VoteStore) -> None:
    pages = server.StudyPages(small_study(), store)
    again = server.StudyPages(small_study(), VoteStore(store.path))
    assert pages.token == again.token
    with served_here(store, with_token=True) as address:
        for path in ("/", "/thanks", "/static/study.js", f"/?token={'0' * 32}"):
            answer = httpx.get(f"{address}{path}", timeout=60)
            assert (answer.status_code, "whole link" in answer.text) == (401, True)
        with httpx.Client(base_url=address, timeout=30) as client:
            assert client.get(f"/?token={pages.token}").headers["location"] == "/"
            person = Participant(client, small_study())
            assert person.send(person.fields(CHOSEN)).status_code == 303
    assert len(store.votes()) == 1


def test_a_busy_port_is_one_sentence() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        with pytest.raises(InputError, match="cannot listen on"):
            listen("127.0.0.1", busy.getsockname()[1])
    with pytest.raises(InputError, match="cannot listen on"):
        listen("127.0.0.1", 99_999)


def score(answers: tuple[str, ...]) -> float:
    """Pairs for the concept, a pair without a difference counting half."""
    return answers.count("concept") + answers.count("neither") / 2


def test_thirty_people_at_once_lose_no_vote(tmp_path) -> None:
    generator = random.Random(4)
    levels = ["closely", "headlines", "little"]
    sides = ["concept", "topic", "neither"]
    plans = [(tuple(generator.choices(sides, [5, 3, 2], k=10)), levels[n % 3]) for n in range(30)]
    with served(tmp_path) as (_, address):

        def take_part(plan: tuple[tuple[str, ...], str]) -> int:
            with httpx.Client(base_url=address, timeout=30) as client:
                person = Participant(client, small_study())
                return person.send(person.fields(plan[0], attention=plan[1])).status_code

        with ThreadPoolExecutor(30) as pool:
            assert list(pool.map(take_part, plans)) == [303] * 30
        # Raw bytes that are no HTTP do not stop it either.
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as raw:
            raw.sendall(b"\x00\xff no http\r\n\r\n")
            assert b"400" in raw.recv(4096)
        assert httpx.get(address, timeout=60).status_code == 200

    store = VoteStore(tmp_path / "study.votes")
    stored = sorted((vote.preferred, vote.attention) for vote in store.votes())
    assert stored == sorted(plans)
    found = results(store.votes(), store.words)
    scores = [score(answers) for answers, _ in plans]
    assert found.preference["everyone"].mean == pytest.approx(statistics.fmean(scores))
    assert found.preference["everyone"].sd == pytest.approx(statistics.stdev(scores))
    people = found.balance["everyone"]
    assert people.wins == sum(score > 5 for score in scores)
    assert people.losses == sum(score < 5 for score in scores)
    assert people.ties == sum(score == 5 for score in scores)
    for level in levels:
        own = [score(answers) for answers, attention in plans if attention == level]
        assert found.preference[level].mean == pytest.approx(statistics.fmean(own))
    for index, word in enumerate(WORDS):
        chosen = [answers[index] for answers, _ in plans]
        votes = found.words[word]["everyone"]
        assert (votes.wins, votes.losses, votes.ties) == tuple(chosen.count(side) for side in sides)
