from caselib import *

G = "robots"
R = {"kind": "crawl", "settings": {"obey_robots": True, "user_agent": "CaseBot/1.0 (+http://bot.example.test/)"}}


def rob(num, robots, tries, *, more=None, settings=None, **kw):
    """tries: {path: allowed?}. The host is c<num>.test; robots is a Resp, text or handler."""
    if isinstance(robots, (str, bytes)):
        robots = text(robots)
    serve = {"robots.txt": robots, "*": ok("page")}
    serve.update(more or {})
    task = json.loads(json.dumps(R))
    task["settings"].update(settings or {})
    task["start"] = [{"url": p} for p in tries]
    expect = {
        "results": [{"status": 200} if yes else {"error": ["robots", "ignored", "blocked"]} for yes in tries.values()],
        "log": {"rest_set_pages": [p for p, yes in tries.items() if yes]},
    }
    expect["log"].update(kw.pop("log", {}))
    return dict(group=G, hosts=[f"c{num}.test"], serve=serve, task=task, expect=expect, **kw)


case(
    "211-robots-bom",
    **rob(
        211,
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /private\n",
        {"private": False, "public": True},
        title="robots.txt starts with a BOM",
        source="scrapy/scrapy#6195",
        symptom="The first User-agent line was not recognised, so the whole file was void and everything was crawled.",
        why="RFC 9309 2.3: UTF-8; Google and others skip a BOM. Reading it as allow-all is the unsafe side.",
    ),
)

case(
    "213-longest-match",
    **rob(
        213,
        "User-agent: *\nDisallow: /\nAllow: /public/\nDisallow: /public/secret\nAllow: /page.html$\n",
        {"public/a": True, "public/secret1": False, "other": False, "page.html": True, "page.html5": False},
        title="the longest matching rule wins, whatever its order",
        source="xroche/httrack#458",
        symptom="The first match was taken, or Allow ignored.",
        why="RFC 9309 2.2.2: most octets; Allow at a tie.",
    ),
)

case(
    "215-own-group-only",
    **rob(
        215,
        "User-agent: casebot\nDisallow: /secret\n\nUser-agent: *\nDisallow: /public\n",
        {"secret": False, "public": True},
        title="the group of one's own name excludes the * group",
        source="xroche/httrack#1695",
        symptom="Rules of the * group were added to one's own.",
        why="RFC 9309 2.2.1: * applies only if no group matches.",
    ),
)

case(
    "217-agents-share-group",
    **rob(
        217,
        "User-agent: otherbot\nUser-agent: CASEBOT\nUser-agent: third\nDisallow: /x\n\nUser-agent: *\nDisallow: /\n",
        {"x": False, "y": True},
        title="several User-agent lines make one group; names ignore case",
        source="rejifald/movar#434",
        symptom="Only the last (or first) of the lines got the rules.",
        why="RFC 9309 2.2.1.",
    ),
)

case(
    "219-404-allows",
    **rob(
        219,
        text("nothing here", status=404, reason="Not Found"),
        {"a": True},
        title="no robots.txt (404): everything is allowed",
        source="xorbitsai/xagent#2043",
        symptom="A missing file was taken for a prohibition.",
        why="RFC 9309 2.3.1.3: unavailable (4xx) MAY access any resource.",
    ),
)

case(
    "221-500-disallows",
    **rob(
        221,
        text("oops", status=500, reason="Internal Server Error"),
        {"a": False},
        disputed=True,
        title="robots.txt answers 500: assume everything is forbidden",
        source="apify/crawlee-python#2065",
        symptom="A server in trouble was crawled as if it allowed all.",
        why="RFC 9309 2.3.1.4: unreachable (5xx) MUST assume complete disallow. Scrapy knowingly allows.",
    ),
)

case(
    "223-robots-redirect",
    **rob(
        223,
        redirect("/r1"),
        {"private": False, "ok": True},
        more={"r1": redirect("/r2"), "r2": text("User-agent: *\nDisallow: /private\n")},
        title="robots.txt behind two redirects",
        source="xorbitsai/xagent#2043",
        symptom="The redirect was not followed and the rules were lost.",
        why="RFC 9309 2.3.1.2: follow at least five hops.",
        log={"ignore_rests": ["r1", "r2"]},
    ),
)

case(
    "225-wildcards",
    **rob(
        225,
        "User-agent: *\nDisallow: /*.json$\nDisallow: /*/filter/page=*/$\nDisallow: /*?\n",
        {"a.json": False, "a.json.html": True, "x/filter/page=2/": False, "p?q=1": False, "p": True},
        title="* and $ in paths",
        source="scrapy/protego#51",
        symptom="Wildcards were matched literally.",
        why="RFC 9309 2.2.3.",
    ),
)

case(
    "227-html-for-robots",
    **rob(
        227,
        doc("<h1>Welcome</h1><p>Disallow: everything boring</p>"),
        {"a": True},
        disputed=True,
        title="robots.txt is the HTML front page",
        source="MadsLorentzen/ai-job-search#286",
        symptom="A soft 404 was read as rules, or as a prohibition.",
        why="No valid line, so no rules (Google's reading). One project argues for forbidding.",
    ),
)

case(
    "229-once-per-host",
    **rob(
        229,
        "User-agent: *\nDisallow: /no\n",
        {"p1": True, "p2": True, "p3": True, "no": False},
        settings={"parallel": True},
        title="robots.txt is fetched once, and before the first page",
        source="scrapy/scrapy#2014",
        symptom="Pages went out before the rules had come; the file was fetched again and again. (Scrapy 2.19.0: of several requests "
        "waiting for the same robots.txt, only the first two are checked; seen with a plain spider as well.)",
        why="One fetch per host, and the first requests wait for it.",
        log={"robots_requests": 1, "robots_first": True},
    ),
)
