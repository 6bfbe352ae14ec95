"""What stands around the requests of PROJECT_NAME."""

from openoctopus.downloadermiddlewares import DownloaderMiddleware


class ProxyMiddleware(DownloaderMiddleware):
    """Sends every request through the proxy of a pool. Its keyword is filled from the settings: PROXY_POOL_URL."""

    def __init__(self, proxy_pool_url: str) -> None:
        self.proxy_pool_url = proxy_pool_url

    async def process_request(self, request, spider):
        request.meta.setdefault("proxy", self.proxy_pool_url)
