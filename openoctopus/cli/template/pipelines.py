"""What the items of PROJECT_NAME pass on their way out."""

from openoctopus.exceptions import DropItem
from openoctopus.pipelines import ItemPipeline


class CleanPipeline(ItemPipeline):
    """Drops items without a title and takes blanks away."""

    def process_item(self, item, spider):
        title = " ".join((item.get("title") or "").split())
        if not title:
            raise DropItem("no title")
        item["title"] = title
        return item
