"""The options of PROJECT_NAME. `octopus settings` lists all there are, with their values and where those come from."""

# Where spiders are found by their names.
SPIDER_MODULES = ["spiders"]

# How you introduce yourself. A page about your crawler, or an address, helps those whom you visit.
# USER_AGENT = "PROJECT_NAME/1.0 (+https://example.com/our-crawler)"

# Politeness. The limit per domain counts for each host; a delay is in seconds.
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS = 16
CONCURRENT_REQUESTS_PER_DOMAIN = 4
DOWNLOAD_DELAY = 0.25
# AUTOTHROTTLE_ENABLED = True

# What may go better another time is tried again, later and later.
# RETRY_TIMES = 2

# What every item passes, smaller numbers first.
ITEM_PIPELINES = {
    "pipelines.CleanPipeline": 100,
}

# What stands around every request. Keywords of the class stand beside its order.
DOWNLOADER_MIDDLEWARES = {
    # "middlewares.ProxyMiddleware": {"order": 740, "proxy_url": "http://127.0.0.1:8080"},
}

# Files of items, besides those of `-o`.
FEEDS = {
    # "items/%(name)s-%(time)s.jsonl": {"fields": ["url", "title"]},
}

# LOG_LEVEL = "INFO"
# LOG_FILE = "log/PROJECT_NAME.log"

# A crawl that has enough ends by itself.
# CLOSESPIDER_ITEMCOUNT = 1000
# CLOSESPIDER_TIMEOUT = 3600
