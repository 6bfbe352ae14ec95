"""What the demo newspaper writes about: word lists that make sensible sentences in Chinese and English."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import NamedTuple


class Topic(NamedTuple):
    """Who did what, and what came of it."""

    who: tuple[str, ...]
    did: tuple[str, ...]
    so: tuple[str, ...]
    tags: tuple[str, ...]


TECHNOLOGY = Topic(
    ("研究团队", "一家初创企业", "国家重点实验室", "高校工程师", "开源社区"),
    ("发布了新一代固态电池", "公开了十年的海洋观测数据", "试运行无人配送车队", "开放了方言语音识别模型",
     "完成了低轨卫星的在轨测试"),
    ("续航时间比上一代延长近三成", "首批用户下个月即可申请试用", "相关标准正在征求意见",
     "成本有望在两年内减半", "成果将免费提供给研究机构"),
    ("人工智能", "新能源", "航天", "机器人", "开源"),
)  # fmt: skip
FINANCE = Topic(
    ("多家银行", "物流园区", "中小制造企业", "地方监管部门", "一家连锁零售商"),
    ("公布了第三季度业绩", "下调了小额贷款利率", "扩大了对外贸易规模", "推出了首批绿色债券",
     "调整了全年投资计划"),
    ("市场反应好于分析师的预期", "订单已经排到明年春天", "原材料价格仍是主要压力",
     "新增岗位集中在物流和服务业", "下半年的现金流更加稳健"),
    ("银行", "外贸", "物流", "消费", "债券"),
)  # fmt: skip
CULTURE = Topic(
    ("市立博物馆", "一位青年导演", "古籍修复师", "民间乐团", "独立书店"),
    ("推出了丝路文物特展", "展示了宋代刻本的修复过程", "排演了一部新编昆曲", "举办了露天电影周",
     "整理出版了老城口述史"),
    ("开幕当天就接待了上万人", "门票在半小时内售罄", "不少家长带着孩子前来", "活动将持续到十月底",
     "部分内容是首次与公众见面"),
    ("展览", "戏曲", "古籍", "电影", "阅读"),
)  # fmt: skip
ARCHIVE = Topic(
    ("郊区村民", "铁路部门", "老城居民", "地质考察队", "县里的中学"),
    ("翻修了一座百年石桥", "迎来了第一趟直达列车", "建成了一座乡村图书馆", "记录了那年夏天的洪水",
     "收到了远方寄来的老照片"),
    ("往返县城的时间缩短到一小时", "孩子们第一次有了自己的阅览室", "这段往事至今仍被人提起",
     "有关资料后来收入了地方志", "当地的集市因此热闹起来"),
    ("往事", "铁路", "乡村", "教育", "老照片"),
)  # fmt: skip
WORLD = Topic(
    ("the harbour authority", "a group of farmers", "the regional parliament", "the weather service", "a team of engineers"),
    ("agreed on a shared fishing zone", "reopened the night train to the coast", "presented a plan against floods",
     "opened a bridge after nine years of work", "published the first map of its wells"),
    ("neighbouring towns want to follow", "the first results are expected in spring", "critics call the costs too high",
     "most residents welcomed the news", "talks will go on next week"),
    ("Travel", "Climate", "Trade & Transport", "Politics", "Energy"),
)  # fmt: skip
SPORT = Topic(
    ("the home side", "a twenty-year-old sprinter", "the women’s relay team", "the veteran goalkeeper", "the rowing club"),
    ("won the final after extra time", "broke a record that had stood since 1998", "signed a contract for three seasons",
     "opened a training centre for children", "climbed to second place in the table"),
    ("tickets for the return match are sold out", "the coach spoke of a quiet revolution", "nobody had expected it in May",
     "the next test comes on Saturday", "supporters sang until midnight"),
    ("Football", "Track & Field", "Rowing", "Youth", "Olympics"),
)  # fmt: skip


class Language(NamedTuple):
    """How sentences are put together, the news first, then remarks; ``{where} {who} {did} {so}``... stand for words."""

    code: str
    title: str
    sentences: tuple[str, ...]
    openings: tuple[str, ...]
    places: tuple[str, ...]
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    name: str
    space: str


CHINESE = Language(
    code="zh",
    title="{where}{who}{did}",
    sentences=(
        "{opening}，{where}{who}近日{did}，{so}。",
        "与去年同期相比，参与人数增长了{number}%，{so}。",
        "“这只是一个开始，”项目负责人{name}说，“{so}。”",
        "在{where}，{who}也{did}。",
        "{opening}，筹备工作前后用了{number}个月，{so}。",
    ),
    openings=("据介绍", "记者了解到", "在昨天的发布会上，主办方宣布", "业内人士认为", "多位参与者告诉记者"),
    places=("北京", "上海", "杭州", "成都", "武汉", "西安", "广州", "南京", "青岛", "昆明"),
    first_names=("晓梅", "建国", "思远", "雨桐", "志强", "丽娟", "子涵", "文博"),
    last_names=("王", "李", "张", "刘", "陈", "杨", "欧阳", "周"),
    name="{last}{first}",
    space="",
)
ENGLISH = Language(
    code="en",
    title="{who} in {where} {did}",
    sentences=(
        "{opening}, {who} in {where} {did}, and {so}.",
        "Compared with last year, the number of people involved rose by {number} per cent; {so}.",
        "“This is only a beginning,” said {name}, who led the work, “{so}.”",
        "In {where}, {who} {did} as well.",
        "{opening}, it took {number} months of preparation, and {so}.",
    ),
    openings=("On Tuesday", "After a long debate", "According to several people present", "To general surprise", "Quietly"),
    places=("Lisbon", "Bergen", "Zürich", "Galway", "Kraków", "Turin", "Malmö", "Ghent", "Porto", "Tartu"),
    first_names=("Ada", "Jonas", "Miriam", "Óscar", "Grace", "Tomasz", "Leila", "Henry"),
    last_names=("Okafor", "Lindqvist", "Moreau", "Kowalski", "Byrne", "Müller", "Rossi", "Novák"),
    name="{first} {last}",
    space=" ",
)


class Writer:
    """Writes about one topic; the same ``random`` state gives the same words."""

    def __init__(self, language: Language, topic: Topic, random: Random) -> None:
        self._language = language
        self._topic = topic
        self._random = random

    def titles(self, count: int) -> list[str]:
        """So many different titles; there are 250."""
        language, topic = self._language, self._topic
        news = self._random.sample(list(product(language.places, topic.who, topic.did)), count)
        return [_capital(language.title.format(where=where, who=who, did=did)) for where, who, did in news]

    def name(self) -> str:
        language, random = self._language, self._random
        return language.name.format(first=random.choice(language.first_names), last=random.choice(language.last_names))

    def tags(self) -> list[str]:
        return self._random.sample(self._topic.tags, self._random.randint(1, 3))

    def paragraph(self) -> str:
        """The news, and one to three remarks on it."""
        news, *remarks = self._language.sentences
        chosen = self._random.sample(remarks, self._random.randint(1, 3))
        return self._language.space.join(_capital(self._filled(sentence)) for sentence in (news, *chosen))

    def _filled(self, sentence: str) -> str:
        language, topic, random = self._language, self._topic, self._random
        return sentence.format(
            opening=random.choice(language.openings),
            where=random.choice(language.places),
            who=random.choice(topic.who),
            did=random.choice(topic.did),
            so=random.choice(topic.so),
            number=random.randint(3, 48),
            name=self.name(),
        )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
