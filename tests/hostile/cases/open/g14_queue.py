from caselib import *

G = "queue"


def Q(*steps):
    return {"kind": "described", "scenario": list(steps)}


case(
    "406-worker-killed",
    group=G,
    source="istresearch/scrapy-cluster#255",
    title="a worker is killed with requests in flight",
    symptom="Requests popped from Redis are gone with the worker.",
    why="At-least-once: a request leaves the queue for good only when its callback and items are done.",
    task=Q(
        "push 100 URLs",
        "start workers A and B with concurrency 8",
        "after 20 pages kill -9 A",
        "let B run until idle (lease timeout 5 s)",
    ),
    expect={"pages_seen_at_least_once": 100, "lost": 0, "max_fetched_twice": 8},
)

case(
    "408-duplicates-between-workers",
    group=G,
    source="rmax/scrapy-redis#59",
    title="two workers find the same link at the same moment",
    symptom="Each worker had its own filter, pages came twice.",
    why="Test-and-set of the fingerprint must be atomic in Redis.",
    task=Q("two pages, both linking the same 50 URLs", "workers A and B each take one", "run until idle"),
    expect={"fetched_exactly_once": 52},
)

case(
    "410-broken-message",
    group=G,
    source="rmax/scrapy-redis#54",
    title="one message cannot be read",
    symptom="A bad serialised request stopped the spider, or was retried for ever.",
    why="Set it aside (dead letter), log it, go on.",
    task=Q("push 10 URLs", "push the bytes ff 00 7b to the same queue", "run until idle"),
    expect={"fetched": 10, "dead_letter": 1, "worker_alive": True},
)

case(
    "412-redis-away",
    group=G,
    source="rmax/scrapy-redis#108",
    title="Redis is away for ten seconds",
    symptom="The spider crashed.",
    why="Wait and reconnect; nothing is lost.",
    task=Q("push 50 URLs", "start a worker", "stop Redis for 10 s, start it again (data kept)", "run until idle"),
    expect={"fetched_at_least_once": 50, "worker_alive": True},
)

case(
    "414-resume-after-stop",
    group=G,
    source="rmax/scrapy-redis#149",
    title="stop with Ctrl-C and start again",
    symptom="The second run found an empty queue although work was left: filter kept, requests lost.",
    why="On a graceful stop pending and in-flight requests go back before the filter remembers them.",
    task=Q("push 30 URLs", "after 10 pages SIGINT", "start again", "run until idle"),
    expect={"fetched_at_least_once": 30, "lost": 0},
)
