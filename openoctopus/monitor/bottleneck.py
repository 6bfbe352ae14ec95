"""What a crawl waited for most, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from openoctopus.engine import Stages
from openoctopus.settings import Settings

#: From this share of one core on, the processor is what a crawl waits for.
BUSY = 0.85
#: The same, if callbacks and pipelines took all of the time and never two at once: others may have wanted the processor.
SHARED = 0.2
#: From this share of the time on, one kind of work is what keeps the processor busy.
LARGE = 0.4

Limit = Literal["network", "politeness", "pipelines", "links", "callbacks", "reading", "storing", "engine"]

_SENTENCES: dict[Limit, str] = {
    "network": "network: {share} of the time went into waiting for servers to answer; a larger {option} ({value}) lets more "
    "go at once",
    "politeness": "politeness: {share} of the time went into waiting for a host's turn (DOWNLOAD_DELAY, Crawl-delay, or a "
    "pause after 429 and 503); more hosts at a time would fill it",
    "pipelines": "pipelines: {share} of the time went into waiting for them; a BatchPipeline or a faster store would help",
    "links": "links: {share} of the time there was nothing to fetch, since pages and start() gave no more",
    "callbacks": "callbacks: {share} of the time went into what they wait for",
    "reading": "parsing: the processor was busy, {share} of the time with the spider's callbacks",
    "storing": "pipelines: the processor was busy, {share} of the time with them",
    "engine": "processor: it was busy, mostly with fetching",
}


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What the crawl waited for most."""

    limit: Limit
    sentence: str

    @classmethod
    def of(cls, stages: Stages, elapsed: float, cpu: float, settings: Settings) -> Self:
        """Judge by where the slots spent their time, and by the seconds that the crawl's thread computed (``cpu``)."""
        elapsed = max(elapsed, 1e-9)
        reading = max(stages.reading - stages.storing, 0.0)
        busy, working = cpu / elapsed, (reading + stages.storing) / elapsed
        if busy > BUSY or (busy > SHARED and BUSY < working < 1.05):
            return cls._busy(reading / elapsed, stages.storing / elapsed)
        waits: dict[Limit, float] = {
            "network": stages.fetching + stages.crowded,
            "politeness": stages.polite,
            "pipelines": stages.storing,
            "links": stages.starved,
            "callbacks": reading,
        }
        limit = max(waits, key=lambda name: waits[name])
        share = waits[limit] / max(sum(waits.values()), 1e-9)
        option = "CONCURRENT_REQUESTS_PER_DOMAIN" if stages.crowded > stages.fetching / 10 else "CONCURRENT_REQUESTS"
        return cls(limit, _SENTENCES[limit].format(share=f"{share:.0%}", option=option, value=settings[option]))

    @classmethod
    def _busy(cls, reading: float, storing: float) -> Self:
        share, limit = max((reading, "reading"), (storing, "storing"), (LARGE, "engine"))
        return cls(limit, _SENTENCES[limit].format(share=f"{min(share, 1.0):.0%}"))  # type: ignore[index, arg-type]
