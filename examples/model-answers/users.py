"""Users who ask, wait for 20 seconds at the most, and leave; and what became of them."""

import asyncio
import random
import time
from dataclasses import dataclass, field

import click
import httpx2
from limits import TOKENS_PER_MINUTE, question_of

PATIENCE_SECONDS = 20
LEAVES_EARLY = 0.25
"""The part of the users who leave before, at any moment."""


@dataclass
class Crowd:
    """Users, and what they got."""

    api: str
    asked: int = 0
    answered: int = 0
    tokens: int = 0
    """The tokens of answers that somebody got."""
    draw: random.Random = field(default_factory=random.Random)

    async def come(self, users_per_second: float, seconds: float) -> None:
        until = time.monotonic() + seconds
        limits = httpx2.Limits(max_connections=None)
        async with (
            httpx2.AsyncClient(limits=limits, timeout=60) as client,
            asyncio.TaskGroup() as g,
        ):
            while time.monotonic() < until:
                g.create_task(self._ask(client))
                await asyncio.sleep(self.draw.expovariate(users_per_second))

    async def _ask(self, client: httpx2.AsyncClient) -> None:
        self.asked += 1
        question = {"question": f"What about {self.draw.random()}?"}
        leaves = self.draw.random() if self.draw.random() < LEAVES_EARLY else 1
        try:
            async with asyncio.timeout(PATIENCE_SECONDS * leaves):
                answer = await client.get(f"{self.api}/answers", params=question)
        except TimeoutError:
            return  # which closes the connection
        if answer.status_code == 200:
            self.answered += 1
            self.tokens += answer.json()["tokens"]


@click.command()
@click.option("--api", default="http://127.0.0.1:8772", show_default=True)
@click.option("--model", default="http://127.0.0.1:8771", show_default=True)
@click.option("--load", default=2.0, show_default=True, help="Times what the model can do.")
@click.option("--seconds", default=60, show_default=True, help="How long users come.")
def main(api: str, model: str, load: float, seconds: int) -> None:
    """Have users come, and tell what became of them, and of the tokens."""
    mean = sum(question_of(str(number)).total for number in range(10_000)) / 10_000
    before, crowd = httpx2.get(model).json(), Crowd(api)
    asyncio.run(crowd.come(load * TOKENS_PER_MINUTE / 60 / mean, seconds))
    time.sleep(2.5)  # until what nobody waits for has heard of it
    after = httpx2.get(model).json()
    spent, refused = (after[name] - before[name] for name in ("tokens", "refused"))
    click.echo(
        f"{crowd.asked} users asked, {crowd.answered / crowd.asked:.0%} had an answer in time.\n"
        f"{1 - crowd.tokens / spent:.0%} of {spent:,} tokens were for nobody.\n"
        f"{refused} requests were refused by the model."
    )


if __name__ == "__main__":
    main()
