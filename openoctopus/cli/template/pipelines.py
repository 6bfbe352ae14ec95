"""What the items of PROJECT_NAME pass on their way out. Switched on in settings.py, under ITEM_PIPELINES."""

from openoctopus.exceptions import DropItem
from openoctopus.pipelines import ItemPipeline


class CleanPipeline(ItemPipeline):
    """Drops articles without a text, and takes superfluous blanks out of titles."""

    def process_item(self, item, spider):
        if not item["text"]:
            raise DropItem("no text")
        item["title"] = " ".join(item["title"].split())
        return item
