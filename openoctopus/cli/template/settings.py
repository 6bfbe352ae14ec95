"""The options of PROJECT_NAME. `octopus settings` lists all there are, with their values and origins."""

# Where spiders are found by name.
SPIDER_MODULES = ["spiders"]

# How you introduce yourself. A page about your crawler, or an address, helps those you visit.
USER_AGENT = "PROJECT_NAME/1.0 (+https://example.com/about-our-crawler)"

# Politeness. CONCURRENT_REQUESTS_PER_DOMAIN counts per host; a delay is in seconds.
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS = 16
CONCURRENT_REQUESTS_PER_DOMAIN = 4
DOWNLOAD_DELAY = 0.25
# AUTOTHROTTLE_ENABLED = True

# What may go better a second time is tried again, later and later.
# RETRY_TIMES = 2

# What every item passes, the smaller number first.
ITEM_PIPELINES = {
    "pipelines.CleanPipeline": 100,
}

# What stands around every request. Keywords of the class can stand beside its order.
DOWNLOADER_MIDDLEWARES = {
    # "middlewares.ProxyMiddleware": {"order": 740, "proxy_pool_url": "http://127.0.0.1:5010/get"},
}

# Files of items; `-o` adds more.
FEEDS = {
    # "items/%(name)s-%(time)s.jsonl": {"fields": ["url", "title"]},
}
