"""Replies do not exceed limits: a request gets the remainder, and one that does not fit is not sent."""

from __future__ import annotations

import asyncio

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events.run import LimitKind, LimitReached
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, Usage
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.llm.scripted_model import Step
from atelier_desk.llm.token_and_cost_estimates import estimate_request
from tests.engine.conftest import Opener, completed, status_after
from tests.engine.team.conftest import Cast, batch, begin, bodies, calculate, team_rows, worker


def greedy(request: ChatRequest) -> Step:
    """A reply of the maximum length with a call, so that the model is asked again."""
    used = Usage(tokens_input=estimate_request(request), tokens_output=request.max_tokens)
    return ChatReply(
        content="word", tool_calls=(calculate(f"k{len(request.messages)}", f"1+{len(request.messages)}"),), usage=used
    )


async def test_greedy_parallel_sub_agents_stay_within_the_common_limit(open_atelier: Opener) -> None:
    cap = 60_000
    cast = Cast(Lead=[[batch("b", *(("Greedy", "x"),) * 5)], "done"], Greedy=[greedy] * 100)
    async with open_atelier(cast) as atelier:
        await atelier.agents.save(worker("Greedy", tools=("CalculatorTool",), max_tokens=4000))
        workflow_id, run_id = await begin(atelier, budget=Budget(max_tokens=cap))
        async with asyncio.timeout(60):
            while True:
                rows = await atelier.repos.runs.list(workflow_id)
                if len(rows) == 6 and all(row.status is RunStatus.PAUSED for row in rows if row.agent_name == "Greedy"):
                    break
                await asyncio.sleep(0.01)
        booked = sum(row.usage.tokens_input + row.usage.tokens_output for row in rows)
        assert cap * 0.75 < booked <= cap
        for row in rows:
            if row.agent_name == "Greedy":
                (reached,) = await bodies(atelier, row.id, LimitReached)
                assert reached.limit is LimitKind.TOKENS
                assert reached.value < reached.cap
        await atelier.runs.cancel(run_id)


async def test_the_last_reply_gets_the_remainder_and_raising_the_limit_continues_the_run(open_atelier: Opener) -> None:
    cast = Cast(Lead=[greedy, greedy, "done"])
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier, tools=("CalculatorTool",), max_tokens=4000, budget=Budget(max_tokens=7000))
        assert await status_after(atelier, run_id) is RunStatus.PAUSED
        model = cast.models["Lead"]
        first, second = (request.max_tokens for request in model.requests)
        assert first == 4000
        assert 256 <= second < 4000
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert state.current.spent.tokens <= 7000
        await atelier.runs.steering.resume(run_id, raise_limits={LimitKind.TOKENS: 20_000})
        await completed(atelier, run_id)


async def test_a_last_answer_requested_at_the_limit_is_given(open_atelier: Opener) -> None:
    cast = Cast(Lead=["in short"])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier, budget=Budget(max_tokens=300))
        assert await status_after(atelier, run_id) is RunStatus.PAUSED
        assert cast.models["Lead"].requests == []
        await atelier.runs.steering.resume(run_id, finish=True)
        await completed(atelier, run_id)
        assert set(await team_rows(atelier, workflow_id)) == {"Lead"}
