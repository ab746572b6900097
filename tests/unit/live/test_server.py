"""The server of the live page: what a tab gets, what it does not get, and when it is gone."""

import http.client
import json
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from simt.cli import main
from simt.errors import SimtError
from simt.exported import choose_system
from simt.live.systems import Served, open_systems
from simt.live.tabs import LONGEST_WORD, MOST_CHARACTERS, MOST_WORDS, Limits
from simt.params import load_params
from simt.session import Session
from simt.translators import Chosen, study_systems
from tests.samples.live import WAIT_S, Live, Tab, running
from tests.samples.project import BIN

KNOBS = ("0.5", "3", "full")
LINES = ("Maria isst immer frisches Brot, bevor sie geht.", "Der Mann liest ein Buch.")
TEXT = "\n".join([*LINES, ""])


def translated(capsys: pytest.CaptureFixture[str], *systems: str) -> list[list[str]]:
    """What `simt translate` says of the lines, for each system."""
    assert main(["translate", *systems, "--study", "tiny", "--json", "--from", "in.txt"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ends = [event for event in events if event["event"] == "end"]
    return [[end["text"] for end in ends if end["system"] == name] for name in systems]


@pytest.fixture(autouse=True)
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "in.txt").write_text(TEXT, encoding="utf-8")


# --- what is translated ---------------------------------------------------------------------------


def test_tab_gets_what_translate_says(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    expected = translated(capsys, "sm2/bi@0.5", "waitk/k3@3", "offline/bi@full")
    with Tab(live) as tab:
        tab.ask(TEXT, *KNOBS)
        assert tab.ends(2, 3) == expected
    assert all(all(lines) for lines in expected)


def test_text_may_come_in_any_pieces(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    expected = translated(capsys, "sm2/bi@0.5", "waitk/k3@3", "offline/bi@full")
    with Tab(live) as tab:
        for end in (3, 11, 12, 30, 48, 49, 60, len(TEXT)):
            tab.ask(TEXT[:end], *KNOBS)
        assert tab.ends(2, 3) == expected


def test_word_is_not_heard_before_a_blank_follows(live: Live) -> None:
    with Tab(live) as tab:
        tab.ask("Maria isst", *KNOBS)
        tab.until(lambda event: event["event"] == "numbers" and event["system"] == 2)
        tab.ask("Maria isst ", *KNOBS)
        tab.until(lambda event: event["event"] == "source" and event["word"] == "isst")
        words = [one["word"] for one in tab.events if one["event"] == "source"]
        assert words.index("isst") == 3  # after Maria, which all three systems have heard


def test_knob_acts_on_the_whole_text_and_on_its_system_only(
    live: Live, capsys: pytest.CaptureFixture[str]
) -> None:
    (before,), (after,) = (translated(capsys, f"sm2/bi@{knob}") for knob in ("full", "0.01"))
    with Tab(live) as tab:
        tab.ask(TEXT, "full", "3", "full")
        assert tab.ends(2, 3)[0] == before
        delays = [word["delay_words"] for word in tab.words(0, 1)]
        tab.ask(TEXT, "0.01", "3", "full")
        assert {event["system"] for event in tab.next_ends(2)} == {0}
        assert [tab.said(0, line) for line in (1, 2)] == after
        assert [word["delay_words"] for word in tab.words(0, 1)] != delays


def test_changed_line_is_translated_again_and_those_before_are_kept(live: Live) -> None:
    changed = TEXT.replace("Mann", "Lehrer")
    with Tab(live) as tab, Tab(live) as fresh:
        tab.ask(TEXT, *KNOBS)
        tab.ends(2, 3)
        tab.ask(changed, *KNOBS)
        assert {event["line"] for event in tab.next_ends(3)} == {2}
        fresh.ask(changed, *KNOBS)
        expected = fresh.ends(2, 3)
        assert [[tab.said(place, line) for line in (1, 2)] for place in range(3)] == expected


def test_longest_sentence_is_told_and_cut_as_by_translate(live: Live) -> None:
    with Tab(live) as tab:
        tab.ask("ja " * 201 + "\n", "full", "3", "full")
        note = tab.until(lambda event: event["event"] == "note" and "goes on" in event["text"])
        assert note["text"] == "line 1 goes on after 200 words: the rest is a sentence of its own"


def test_sentence_after_a_cut_has_columns_and_costs_of_its_own(live: Live) -> None:
    with Tab(live) as tab:
        tab.ask("ja " * 202 + "\n", "full", "3", "full")
        tab.next_ends(2 * 3)
        own = [event for event in tab.events if event.get("system") == 2]
        first, second = (n for n, event in enumerate(own) if event["event"] == "end")
        columns = [
            {event["released_after"] for event in part if event["event"] == "word"}
            for part in (own[:first], own[first:])
        ]
        assert columns == [{200}, {202}]
        acts = [event for event in own[first:] if event["event"] in ("read", "write")]
        (*_, numbers) = [event for event in own[:second] if event["event"] == "numbers"]
        spent = sum(act["ms"] for act in acts)
        assert numbers["computing_ms"] == pytest.approx(spent, abs=0.001 * len(acts))


# --- numbers --------------------------------------------------------------------------------------


def test_lagging_is_that_of_the_definition(live: Live) -> None:
    with Tab(live) as tab:
        tab.ask(LINES[0] + "\n", *KNOBS)
        tab.ends(1, 3)
        for place in range(3):
            numbers = [
                one for one in tab.events if one["event"] == "numbers" and one["system"] == place
            ]
            delays = [word["delay_words"] for word in tab.words(place, 1)]
            assert numbers[-1]["lagging"] == pytest.approx(al(delays, 8), abs=0.01)
            assert numbers[-1]["words"] == len(delays)


def test_lagging_before_the_end_is_how_many_words_more_were_read_than_written(live: Live) -> None:
    with Tab(live) as tab:
        tab.ask("Maria isst immer frisches ", "0.05", "3", "full")
        while tab.until(lambda event: event["event"] == "numbers")["system"] != 0:
            pass
        tab.until(lambda event: event["event"] == "source" and event["word"] == "frisches")
        words = tab.words(0, 1)
        numbers = [one for one in tab.events if one["event"] == "numbers" and one["system"] == 0]
        ahead = [word["delay_words"] - written for written, word in enumerate(words)]
        assert numbers[-1]["lagging"] == pytest.approx(sum(ahead) / len(ahead), abs=0.01)


def al(delays: Sequence[int], source: int) -> float:
    """Average lagging as Ma et al. (2019) write it: up to the first word after the whole source."""
    tau = next((n for n, delay in enumerate(delays, 1) if delay == source), len(delays))
    rate = len(delays) / source
    return sum(delays[t - 1] - (t - 1) / rate for t in range(1, tau + 1)) / tau


def test_moments_are_those_of_source_words_plus_computing(live: Live) -> None:
    with Tab(live) as tab:
        tab.ask("Maria isst immer ", *KNOBS)
        tab.until(lambda event: event["event"] == "numbers" and event["system"] == 2)
        time.sleep(0.3)
        tab.ask(LINES[0] + "\n", *KNOBS)
        tab.ends(1, 3)
        for place in range(3):
            own = [one for one in tab.events if one.get("system") == place]
            came = [one["second"] for one in own if one["event"] == "source"]
            assert came[0] == 0
            assert came[3] >= 0.3
            spent = sum(one["ms"] for one in own if one["event"] in ("read", "write")) / 1000
            for word in tab.words(place, 1):
                earliest = came[word["released_after"] - 1]
                assert earliest <= word["second"] <= max(came) + spent + 0.01


def test_what_is_replayed_has_a_time_of_its_own(live: Live) -> None:
    with Tab(live) as tab:
        tab.ask("Maria ", *KNOBS)
        tab.until(lambda event: event["event"] == "numbers" and event["system"] == 2)
        time.sleep(0.3)
        tab.ask(LINES[0] + "\n", *KNOBS, is_new=True)
        seconds = [one["second"] for one in tab.next_ends(3) if one["event"] == "source"]
        assert set(seconds) == {0}


# --- many tabs ------------------------------------------------------------------------------------


def test_32_tabs_do_not_mix(live: Live, systems: list[Served]) -> None:
    nouns = ("Mann", "Hund", "Arzt", "Lehrer", "Vater", "Sohn", "Freund", "Schüler")
    verbs = ("liest", "isst", "kauft", "mag")
    texts = [f"Der {noun} {verb} heute ein Buch." for noun in nouns for verb in verbs]

    def one_tab(text: str) -> list[list[str]]:
        with Tab(live) as tab:
            for end in range(0, len(text), 7):
                tab.ask(text[:end], *KNOBS)
            tab.ask(text + "\n", *KNOBS)
            return tab.ends(1, 3)

    def alone(text: str) -> list[list[str]]:
        sessions = [
            Session(one.translator, one.system.knob(k))
            for one, k in zip(systems, KNOBS, strict=True)
        ]
        for session in sessions:
            for word in text.split():
                session.push(word)
            session.finish()
        return [[session.text] for session in sessions]

    with ThreadPoolExecutor(len(texts)) as pool:
        assert list(pool.map(one_tab, texts)) == [alone(text) for text in texts]
    assert len({str(alone(text)) for text in texts}) > 8  # so that mixing them would be seen


def test_tab_more_than_there_is_room_for_is_told(systems: list[Served]) -> None:
    with running(systems, Limits(tabs=2)) as live, Tab(live), Tab(live) as second:
        with Tab(live) as third:
            assert third.events[-1]["event"] == "closed"
            assert "2 tabs are open" in third.events[-1]["why"]
        second.__exit__()
        wait_until_open(live, 1)
        with Tab(live) as third:
            assert third.name


def wait_until_open(live: Live, number: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while len(live.tabs) != number:
        assert time.monotonic() < deadline, f"{len(live.tabs)} tabs are open"
        time.sleep(0.01)


def test_tab_that_is_closed_while_it_translates_leaves_nothing(systems: list[Served]) -> None:
    with running(systems) as live:
        with Tab(live) as tab:
            tab.ask(TEXT * 20, *KNOBS)
            tab.until(lambda event: event["event"] == "word")
        wait_until_open(live, 0)
        assert tab.ask(TEXT, *KNOBS).status_code == 404


def test_tabs_that_go_as_soon_as_they_have_come_leave_nothing(systems: list[Served]) -> None:
    with running(systems, Limits(tabs=100)) as live:
        for _ in range(100):  # the server is then between two events of some of them
            with Tab(live):
                pass
        wait_until_open(live, 0)


def test_idle_tab_is_told_and_gone(systems: list[Served]) -> None:
    with running(systems, Limits(idle_seconds=0.3)) as live, Tab(live) as tab:
        assert tab.until(lambda event: event["event"] == "closed")["is_idle"]
        wait_until_open(live, 0)


def test_tab_is_told_that_simt_has_failed(
    systems: list[Served], capsys: pytest.CaptureFixture[str]
) -> None:
    broken = replace(systems[0], translator=replace(systems[0].translator, model=None))  # type: ignore[arg-type]
    with running([broken]) as live, Tab(live) as tab:
        assert "simt has failed" in tab.until(lambda event: event["event"] == "closed")["why"]
        wait_until_open(live, 0)
    assert "AttributeError: 'NoneType' object" in capsys.readouterr().err


def test_tabs_are_told_when_the_server_stops(systems: list[Served]) -> None:
    with running(systems) as live:
        tab = Tab(live)
    with tab:
        assert (
            tab.until(lambda event: event["event"] == "closed")["why"] == "the server was stopped"
        )


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "knobs", "says"),
    [
        ("a" * 50 + " a" * MOST_CHARACTERS, KNOBS, "20,050 characters, but 10,000"),
        ("a " * (MOST_WORDS + 1), KNOBS, "1,001 words, but 1,000"),
        ("a" * (LONGEST_WORD + 1), KNOBS, "201 characters, but 200"),
        ("a", ("1.5", "3", "full"), "'1.5' is not a knob value of sm2/bi:"),
        ("a", ("0.5", "no", "full"), "'no' is not a knob value"),
        ("a", ("0.5", "3", "0.5"), "its only knob is full"),
        ("a", ("0.5",), "1 knob value, but 3 systems"),
    ],
)
def test_what_is_too_much_or_wrong_is_told(
    live: Live, text: str, knobs: Sequence[str], says: str
) -> None:
    with Tab(live) as tab:
        answer = tab.ask(text, *knobs)
        assert answer.status_code == 422
        assert says in answer.json()["why"]
        assert tab.ask("a ", *KNOBS).status_code == 204  # the tab lives on


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"text": 3, "knobs": []}', b"\xff\xfe"])
def test_what_is_no_question_is_refused(live: Live, body: bytes) -> None:
    with Tab(live) as tab:
        answer = requests.post(f"{live.url}/tabs/{tab.name}", data=body, timeout=WAIT_S)
        assert answer.status_code == 422
        assert "send JSON" in answer.json()["why"]


def test_more_than_anybody_types_is_not_even_kept(live: Live) -> None:
    with Tab(live) as tab:
        answer = tab.ask("a" * 1_000_000, *KNOBS)
        assert answer.status_code == 413


def test_unknown_tab_is_told(live: Live) -> None:
    answer = requests.post(f"{live.url}/tabs/nobody", json={}, timeout=WAIT_S)
    assert answer.status_code == 404
    assert "reload" in answer.json()["why"]


def raw(live: Live, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """The answer to a request that no library has tidied up."""
    connection = http.client.HTTPConnection(urlsplit(live.url).netloc, timeout=WAIT_S)
    connection.putrequest(method, path, skip_host="host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../../../etc/passwd", "/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
        "/live.css/../server.py", "/..%2fserver.py", "/server.py", "/page.html", "/params.yaml",
        "/tabs/../live.js", "/docs", "/openapi.json", "/results",
    ],
)  # fmt: skip
def test_no_file_can_be_reached(live: Live, path: str) -> None:
    status, body = raw(live, path)
    assert status in (404, 405)
    assert json.loads(body)["detail"] in ("Not Found", "Method Not Allowed")


def test_page_of_somebody_else_cannot_ask(live: Live) -> None:
    assert raw(live, "/", host="evil.example")[0] == 400
    assert raw(live, "/events", sec_fetch_site="cross-site", sec_fetch_mode="cors")[0] == 403
    assert raw(live, "/", sec_fetch_site="cross-site", sec_fetch_mode="navigate")[0] == 200


def test_page_says_what_is_served_and_loads_nothing_from_elsewhere(live: Live) -> None:
    page = requests.get(live.url, timeout=WAIT_S)
    assert all(name in page.text for name in ("SM²-Bi", "wait-k 3", "OMT-Bi"))
    assert "http" not in page.text
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_examples_are_short_sentences_of_the_test_set(live: Live) -> None:
    page = requests.get(live.url, timeout=WAIT_S).text
    assert all(sentence in page for sentence in (LINES[1], "Maria isst immer frisches Brot."))
    assert "ja ja" not in page


def test_systems_of_different_languages_are_refused(project: Path) -> None:
    first, second, *_ = study_systems(load_params(Path("params.yaml"), "tiny"))
    other = replace(second, languages=("fr", "en"))
    with pytest.raises(SimtError, match="same languages: a@3 de to en, b@3 fr to en"):
        open_systems([Chosen("a@3", first, 3), Chosen("b@3", other, 3)])


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.2", "localhost"])
def test_address_that_is_printed_answers(host: str) -> None:
    command = [BIN / "simt", "serve", "waitk/k3", "--study", "tiny", "--port", "0", "--host", host]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = re.search(r"http://\S+", process.stdout.readline())
        assert url
        assert requests.get(url[0], timeout=WAIT_S).status_code == 200
        process.send_signal(signal.SIGINT)


def test_command_serves_the_main_systems_until_it_is_interrupted() -> None:
    command = [BIN / "simt", "serve", "--study", "tiny", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert "3 of 3 results used here do not match" in process.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert url
        page = requests.get(url[0], timeout=WAIT_S).text
        assert re.findall(r"<code>(.*)</code>", page) == ["sm2/bi", "waitk/k3", "offline/bi"]
        with requests.get(f"{url[0]}/events", stream=True, timeout=WAIT_S) as tab:
            process.send_signal(signal.SIGINT)
            assert "the server was stopped" in tab.text
        assert process.wait() == 0


def test_taken_port_is_told(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    port = urlsplit(live.url).port
    assert main(["serve", "waitk/k3", "--study", "tiny", "--port", str(port)]) == 1
    why = "Address already in use; give another --port or --host\n"
    assert capsys.readouterr().err.endswith(f"cannot listen at 127.0.0.1, port {port}: {why}")


def test_what_is_no_address_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "waitk/k3", "--study", "tiny", "--host", "127.0..0.1"]) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert "cannot listen at 127.0..0.1, port 8000: it is not an address; give another" in line


def test_exported_folder_is_served_under_its_last_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "secret" / "mine"
    assert main(["export", "sm2/bi", "--to", str(folder), "--study", "tiny"]) == 0
    chosen = choose_system(str(folder), None, NotImplemented)
    with running(open_systems([chosen])) as live:
        page = requests.get(live.url, timeout=WAIT_S).text
        assert "<code>mine</code>" in page
        assert "SM²-Bi" in page
        assert "secret" not in page
        with Tab(live) as tab:
            why = tab.ask("a ", "1.5").json()["why"]
            assert "'1.5' is not a knob value of mine:" in why
            assert "secret" not in why


def test_study_without_runs_has_nothing_to_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").write_bytes(Path("params.yaml").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--study", "tiny"]) == 1
    assert "simt: Study tiny has no finished run" in capsys.readouterr().err
