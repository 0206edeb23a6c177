"""Claims that hold for every provider alike, each shown with its real SDK against a server on this machine."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError, TextDelta, Usage
from segue.chat.agents.retry import RetryPolicy
from tests.support.providers.houses import QUESTION, text_of
from tests.support.providers.server import SAFE_SECONDS, Reply, Server

if TYPE_CHECKING:
    from segue.chat.agent import Piece
    from tests.support.providers.houses import ProviderFixture

BUSY = "429 Too Many Requests"


def failing(house: ProviderFixture, server: Server, **patience: float) -> tuple[list[Piece], AgentError]:
    """What came before the error, and the error."""
    pieces: list[Piece] = []
    with pytest.raises(AgentError) as caught:
        pieces += house.agent(server.url, **patience).answer(QUESTION)
    return pieces, caught.value


# ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_pieces_come_as_they_are_sent_and_then_what_was_counted(house: ProviderFixture) -> None:
    with Server([house.answers("The token", " expires", " at noon, 東京.")]) as server:
        pieces = list(house.agent(server.url).answer(QUESTION))
    assert pieces[:-1] == [TextDelta("The token"), TextDelta(" expires"), TextDelta(" at noon, 東京.")]
    assert pieces[-1] == Usage(input_tokens=15, output_tokens=7, model=house.model)


def test_a_piece_is_there_before_the_next_one_is_sent(house: ProviderFixture) -> None:
    with Server([Reply(body=(house.begin(), house.text("The")), ending="hold")]) as server:
        answer = house.agent(server.url).answer(QUESTION)
        assert next(answer) == TextDelta("The")
        answer.close()  # type: ignore[attr-defined]


def test_closing_the_iterator_closes_the_connection(house: ProviderFixture) -> None:
    with Server([Reply(body=(house.begin(), house.text("The")), ending="hold")]) as server:
        answer = house.agent(server.url).answer(QUESTION)
        next(answer)
        assert not server.left.is_set()
        answer.close()  # type: ignore[attr-defined]
        assert server.left.wait(SAFE_SECONDS)


def test_an_agent_whose_answer_was_closed_answers_the_next_question(house: ProviderFixture) -> None:
    script = [Reply(body=(house.begin(), house.text("The")), ending="hold"), house.answers("Again.")]
    with Server(script) as server:
        agent = house.agent(server.url)
        answer = agent.answer(QUESTION)
        next(answer)
        answer.close()  # type: ignore[attr-defined]
        assert text_of(list(agent.answer(QUESTION))) == "Again."


def test_nothing_is_asked_before_the_first_piece_is_wanted(house: ProviderFixture) -> None:
    with Server([]) as server:
        house.agent(server.url).answer(QUESTION)
        assert server.asked == []


def test_an_answer_that_reaches_its_limit_says_so(house: ProviderFixture) -> None:
    with Server([house.answers("Half an ans", reason=house.full)]) as server:
        text = text_of(list(house.agent(server.url).answer(QUESTION)))
    assert text.startswith("Half an ans\n\n[The answer ends here: ")


def test_a_limit_before_the_first_word_is_no_answer(house: ProviderFixture) -> None:
    with Server([house.answers(reason=house.full)]) as server:
        _, error = failing(house, server)
    assert "gave no answer" in str(error)


# ── Asking again ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [BUSY, "500 Internal Server Error", "503 Service Unavailable", "529 Overloaded"])
def test_a_trouble_that_passes_is_waited_out(house: ProviderFixture, status: str) -> None:
    with Server([house.refuses(status, "not now"), house.refuses(status, "not now"), house.answers("Now.")]) as server:
        assert text_of(list(house.agent(server.url).answer(QUESTION))) == "Now."
        assert len(server.asked) == 3


def test_the_pause_is_as_long_as_the_provider_asks(house: ProviderFixture) -> None:
    paused: list[float] = []
    with Server([house.refuses(BUSY, "slow down", ("Retry-After", "7")), house.answers("Now.")]) as server:
        list(house.new(server.url, RetryPolicy(sleep=paused.append)).answer(QUESTION))
    assert paused == [7.0]


def test_the_pauses_grow_when_the_provider_asks_for_none(house: ProviderFixture) -> None:
    paused: list[float] = []
    with Server([house.refuses("500 Oh", "oh"), house.refuses("500 Oh", "oh"), house.answers("Now.")]) as server:
        list(house.new(server.url, RetryPolicy(sleep=paused.append)).answer(QUESTION))
    assert paused == [0.5, 1.0]


def test_who_asks_for_a_long_pause_is_not_asked_again_and_the_person_is_told_when_to_come_back(
    house: ProviderFixture,
) -> None:
    with Server([house.refuses(BUSY, "slow down", ("Retry-After", "3600"))]) as server:
        _, error = failing(house, server)
        assert len(server.asked) == 1
    assert "fewer requests" in str(error)
    assert error.hint == "try again in 60 minutes"
    assert error.can_retry


def test_after_a_few_attempts_the_last_trouble_is_told(house: ProviderFixture) -> None:
    with Server([house.refuses("500 Oh", "the disk is on fire")] * 3) as server:
        _, error = failing(house, server)
        assert len(server.asked) == 3
    assert "the disk is on fire" in str(error)
    assert error.can_retry


def test_a_connection_that_breaks_before_the_first_word_is_made_again(house: ProviderFixture) -> None:
    with Server([Reply(ending="cut"), Reply(body=(house.begin(),), ending="cut"), house.answers("Now.")]) as server:
        server.may_cut.set()
        assert text_of(list(house.agent(server.url).answer(QUESTION))) == "Now."


def test_an_empty_stream_is_asked_for_again_and_then_told(house: ProviderFixture) -> None:
    with Server([Reply()] * 3) as server:
        pieces, error = failing(house, server)
        assert len(server.asked) == 3
    assert pieces == []
    assert error.can_retry


# ── Broken off half-way ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_connection_that_is_cut_after_the_first_word_is_told_and_never_made_again(house: ProviderFixture) -> None:
    broken = Reply(body=(house.begin(), house.text("The tok")), ending="cut")
    with Server([broken, house.answers("Never asked for.")]) as server:
        answer = house.agent(server.url).answer(QUESTION)
        assert next(answer) == TextDelta("The tok")
        server.may_cut.set()
        with pytest.raises(AgentError, match="broke off half-way") as caught:
            next(answer)
        assert len(server.asked) == 1
    assert caught.value.can_retry


def test_a_half_closed_connection_is_a_broken_stream(house: ProviderFixture) -> None:
    with Server([Reply(body=(house.begin(), house.text("The tok")), ending="half-close")]) as server:
        pieces, error = failing(house, server)
        assert server.left.wait(SAFE_SECONDS)
    assert text_of(pieces) == "The tok"
    assert "broke off half-way" in str(error)


def test_a_clean_end_without_the_word_of_the_end_is_a_broken_stream(house: ProviderFixture) -> None:
    with Server([Reply(body=(house.begin(), house.text("The tok")), chunked=False)]) as server:
        pieces, error = failing(house, server)
    assert text_of(pieces) == "The tok"
    assert "broke off half-way" in str(error)


def test_silence_after_the_first_word_is_a_broken_stream(house: ProviderFixture) -> None:
    with Server([Reply(body=(house.begin(), house.text("The tok")), ending="hold")]) as server:
        pieces, error = failing(house, server, timeout_seconds=0.3)
    assert text_of(pieces) == "The tok"
    assert "broke off half-way" in str(error)


def test_garbage_after_the_first_word_is_a_broken_stream(house: ProviderFixture) -> None:
    garbage = b'event: message_delta\ndata: {"type": "message_delta", broken\n\n'
    with Server([Reply(body=(house.begin(), house.text("The tok"), garbage))]) as server:
        pieces, error = failing(house, server)
    assert text_of(pieces) == "The tok"
    assert "broke off half-way" in str(error)


# ── No answer ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_garbage_instead_of_an_answer_is_told_as_such(house: ProviderFixture) -> None:
    with Server([Reply(body=(b"event: message_start\ndata: {{{ no json \xff\n\n",))]) as server:
        _, error = failing(house, server)
    assert "cannot be parsed" in str(error)


def test_headers_that_never_come_are_a_timeout_and_the_person_is_asked(house: ProviderFixture) -> None:
    with Server([Reply(ending="silence")]) as server:
        _, error = failing(house, server, timeout_seconds=0.3)
        assert len(server.asked) == 1
    assert "did not answer in time" in str(error)
    assert error.can_retry


def test_a_key_that_is_not_accepted_names_the_variable(house: ProviderFixture) -> None:
    with Server([house.refuses(*house.bad_key)]) as server:
        _, error = failing(house, server)
    assert "does not accept the key" in str(error)
    assert "API_KEY" in error.hint
    assert not error.can_retry


def test_a_model_that_does_not_exist_is_named_with_a_way_to_list_those_that_do(house: ProviderFixture) -> None:
    with Server([house.refuses(*house.no_model)]) as server:
        _, error = failing(house, server)
    assert f"has no model '{house.agent('').name.partition('/')[2].partition('@')[0]}'" in str(error)
    assert "/models lists them" in error.hint
    assert not error.can_retry


def test_a_place_where_no_chat_is_does_not_blame_the_model(house: ProviderFixture) -> None:
    page = Reply(body=(b"<h1>Nothing here</h1>",), status="404 Not Found", headers=(("Content-Type", "text/html"),))
    with Server([page]) as server:
        _, error = failing(house, server)
    assert "there is no chat at" in str(error)


def test_a_conversation_that_is_too_long_says_what_to_do(house: ProviderFixture) -> None:
    with Server([house.refuses("400 Bad Request", house.too_long)]) as server:
        _, error = failing(house, server)
    assert "too long" in str(error)
    assert "budget" in error.hint
    assert not error.can_retry


def test_a_request_that_is_refused_says_why(house: ProviderFixture) -> None:
    with Server([house.refuses("400 Bad Request", "no weapons, please")]) as server:
        _, error = failing(house, server) if house.name != "openai" else failing_twice(house, server)
    assert "no weapons, please" in str(error)
    assert not error.can_retry


def failing_twice(house: ProviderFixture, server: Server) -> tuple[list[Piece], AgentError]:
    """This one is asked again without the fields that not every server knows."""
    server.script.append(house.refuses("400 Bad Request", "no weapons, please"))
    return failing(house, server)


def test_no_network_is_told_with_the_address(house: ProviderFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(AgentError) as caught:
        list(house.agent(f"http://127.0.0.1:{port}").answer(QUESTION))
    assert f"http://127.0.0.1:{port}" in str(caught.value)
    assert "cannot be reached" in str(caught.value)
    assert caught.value.can_retry


def test_a_model_that_knows_no_temperature_is_asked_without_one(house: ProviderFixture) -> None:
    from msgspec.structs import replace

    refusal = house.refuses("400 Bad Request", "temperature is deprecated for this model.")
    with Server([refusal, house.answers("Fine.")]) as server:
        pieces = list(house.agent(server.url).answer(replace(QUESTION, temperature=0.5)))
        first, second = (str(asked.body) for asked in server.asked)
    assert text_of(pieces) == "Fine."
    assert "'temperature': 0.5" in first
    assert "temperature" not in second
