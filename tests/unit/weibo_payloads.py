"""Payloads of Weibo, written by hand after the documented samples."""

from __future__ import annotations

from typing import Any

from bowerbird.model import Answer, Ask, Page, Progress, Service
from bowerbird.providers import Weibo

SERVICE = Service(name="w", provider="weibo", base="https://w.example")
DELETED = "此微博已被原作者删除。"

weibo = Weibo()


def read(facet: str, targets: tuple[str, ...] | str, answered: Answer, hints: dict[str, str] | None = None, **at: str) -> Page:
    asked = (targets,) if isinstance(targets, str) else targets
    return weibo.parse(Ask(facet, asked, Progress(**at), hints or {}), answered, SERVICE)


def person(key: str = "1404376560", **other: Any) -> dict[str, Any]:
    return {
        "id": int(key),
        "idstr": key,
        "screen_name": f"zaku{key}",
        "name": f"zaku{key}",
        "location": "北京 朝阳区",
        "description": "人生五十年",
        "url": "http://blog.example/zaku",
        "avatar_large": "http://tp1.example/180/0/1",
        "gender": "m",
        "followers_count": 1204,
        "friends_count": 447,
        "statuses_count": 2908,
        "created_at": "Fri Aug 28 00:00:00 +0800 2009",
        "geo_enabled": True,
        "verified": False,
        "lang": "zh-cn",
        **other,
    }


def weibo_post(key: str = "3436164122209450", **other: Any) -> dict[str, Any]:
    return {
        "created_at": "Wed Apr 18 14:00:30 +0800 2012",
        "id": int(key),
        "mid": key,
        "idstr": key,
        "text": "#话题# 你好 http://t.cn/abc //@用户:转发",
        "source": '<a href="http://weibo.com" rel="nofollow">新浪微博</a>',
        "in_reply_to_status_id": "",
        "pic_urls": [{"thumbnail_pic": "http://ww1.example/thumbnail/53b.jpg"}],
        "geo": {"type": "Point", "coordinates": [39.9, 116.4]},
        "reposts_count": 1,
        "comments_count": 2,
        "attitudes_count": 3,
        "visible": {"type": 0, "list_id": 0},
        "user": person(),
        **other,
    }


def remark(key: str = "3436164122209999", **other: Any) -> dict[str, Any]:
    return {
        "created_at": "Wed Apr 18 15:00:30 +0800 2012",
        "id": int(key),
        "idstr": key,
        "mid": key,
        "text": "回复@zaku:好",
        "user": person("2"),
        "status": weibo_post(),
        **other,
    }
