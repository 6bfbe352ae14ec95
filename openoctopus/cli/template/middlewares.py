"""What stands around the requests of PROJECT_NAME. Switched on in settings.py, under DOWNLOADER_MIDDLEWARES."""

from openoctopus.downloadermiddlewares import DownloaderMiddleware


class ProxyMiddleware(DownloaderMiddleware):
    """Sends every request through a proxy. Its keyword is filled from its entry in the settings, or from PROXY_URL."""

    def __init__(self, proxy_url: str):
        self.proxy_url = proxy_url

    async def process_request(self, request, spider):
        request.meta.setdefault("proxy", self.proxy_url)
