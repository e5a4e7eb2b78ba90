"""Time zones as profiles name them, and how far they are from each other in winter and in summer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

_NAMES = """
American Samoa=Pacific/Pago_Pago|Midway Island=Pacific/Midway|Hawaii=Pacific/Honolulu
Alaska=America/Juneau|Pacific Time (US & Canada)=America/Los_Angeles|Tijuana=America/Tijuana
Mountain Time (US & Canada)=America/Denver|Arizona=America/Phoenix|Chihuahua=America/Chihuahua
Mazatlan=America/Mazatlan|Central Time (US & Canada)=America/Chicago|Saskatchewan=America/Regina
Guadalajara=America/Mexico_City|Mexico City=America/Mexico_City|Monterrey=America/Monterrey
Central America=America/Guatemala|Eastern Time (US & Canada)=America/New_York
Indiana (East)=America/Indiana/Indianapolis|Bogota=America/Bogota|Lima=America/Lima
Quito=America/Guayaquil|Atlantic Time (Canada)=America/Halifax|Caracas=America/Caracas
La Paz=America/La_Paz|Santiago=America/Santiago|Newfoundland=America/St_Johns
Brasilia=America/Sao_Paulo|Buenos Aires=America/Argentina/Buenos_Aires
Montevideo=America/Montevideo|Georgetown=America/Guyana|Greenland=America/Godthab
Mid-Atlantic=Atlantic/South_Georgia|Azores=Atlantic/Azores|Cape Verde Is.=Atlantic/Cape_Verde
Dublin=Europe/Dublin|Edinburgh=Europe/London|Lisbon=Europe/Lisbon|London=Europe/London
Casablanca=Africa/Casablanca|Monrovia=Africa/Monrovia|Belgrade=Europe/Belgrade
Bratislava=Europe/Bratislava|Budapest=Europe/Budapest|Ljubljana=Europe/Ljubljana
Prague=Europe/Prague|Sarajevo=Europe/Sarajevo|Skopje=Europe/Skopje|Warsaw=Europe/Warsaw
Zagreb=Europe/Zagreb|Brussels=Europe/Brussels|Copenhagen=Europe/Copenhagen|Madrid=Europe/Madrid
Paris=Europe/Paris|Amsterdam=Europe/Amsterdam|Berlin=Europe/Berlin|Bern=Europe/Zurich
Zurich=Europe/Zurich|Rome=Europe/Rome|Stockholm=Europe/Stockholm|Vienna=Europe/Vienna
West Central Africa=Africa/Algiers|Bucharest=Europe/Bucharest|Cairo=Africa/Cairo
Helsinki=Europe/Helsinki|Kyiv=Europe/Kiev|Kyev=Europe/Kiev|Riga=Europe/Riga|Sofia=Europe/Sofia
Tallinn=Europe/Tallinn|Vilnius=Europe/Vilnius|Athens=Europe/Athens|Istanbul=Europe/Istanbul
Minsk=Europe/Minsk|Jerusalem=Asia/Jerusalem|Harare=Africa/Harare|Pretoria=Africa/Johannesburg
Moscow=Europe/Moscow|St. Petersburg=Europe/Moscow|Volgograd=Europe/Volgograd|Samara=Europe/Samara
Kuwait=Asia/Kuwait|Riyadh=Asia/Riyadh|Nairobi=Africa/Nairobi|Baghdad=Asia/Baghdad
Tehran=Asia/Tehran|Abu Dhabi=Asia/Muscat|Muscat=Asia/Muscat|Baku=Asia/Baku|Tbilisi=Asia/Tbilisi
Yerevan=Asia/Yerevan|Kabul=Asia/Kabul|Ekaterinburg=Asia/Yekaterinburg|Islamabad=Asia/Karachi
Karachi=Asia/Karachi|Tashkent=Asia/Tashkent|Chennai=Asia/Kolkata|Kolkata=Asia/Kolkata
Mumbai=Asia/Kolkata|New Delhi=Asia/Kolkata|Kathmandu=Asia/Kathmandu|Astana=Asia/Dhaka
Dhaka=Asia/Dhaka|Sri Jayawardenepura=Asia/Colombo|Almaty=Asia/Almaty|Novosibirsk=Asia/Novosibirsk
Rangoon=Asia/Rangoon|Bangkok=Asia/Bangkok|Hanoi=Asia/Bangkok|Jakarta=Asia/Jakarta
Krasnoyarsk=Asia/Krasnoyarsk|Beijing=Asia/Shanghai|Chongqing=Asia/Chongqing
Hong Kong=Asia/Hong_Kong|Urumqi=Asia/Urumqi|Kuala Lumpur=Asia/Kuala_Lumpur
Singapore=Asia/Singapore|Taipei=Asia/Taipei|Perth=Australia/Perth|Irkutsk=Asia/Irkutsk
Ulaan Bataar=Asia/Ulaanbaatar|Seoul=Asia/Seoul|Osaka=Asia/Tokyo|Sapporo=Asia/Tokyo
Tokyo=Asia/Tokyo|Yakutsk=Asia/Yakutsk|Darwin=Australia/Darwin|Adelaide=Australia/Adelaide
Canberra=Australia/Canberra|Melbourne=Australia/Melbourne|Sydney=Australia/Sydney
Brisbane=Australia/Brisbane|Hobart=Australia/Hobart|Vladivostok=Asia/Vladivostok|Guam=Pacific/Guam
Port Moresby=Pacific/Port_Moresby|Magadan=Asia/Magadan|Solomon Is.=Pacific/Guadalcanal
New Caledonia=Pacific/Noumea|Fiji=Pacific/Fiji|Kamchatka=Asia/Kamchatka
Marshall Is.=Pacific/Majuro|Auckland=Pacific/Auckland|Wellington=Pacific/Auckland
Nuku'alofa=Pacific/Tongatapu|Tokelau Is.=Pacific/Fakaofo|Samoa=Pacific/Apia
"""
"""The list in Twitter's settings, which is that of Ruby on Rails."""
_ZONES_BY_NAME = dict(each.split("=") for each in _NAMES.strip().replace("\n", "|").split("|"))
CLIENT_DEFAULTS = frozenset(
    {
        "UTC",
        "GMT",
        "Quito",
        "Pacific Time (US & Canada)",
        "Hawaii",
        "Alaska",
        "Greenland",
        "International Date Line West",
        "Arizona",
        "Atlantic Time (Canada)",
        "Mid-Atlantic",
        "Eastern Time (US & Canada)",
        "Central Time (US & Canada)",
    }
)
"""Set by old Twitter clients, or chosen at random: they say little about where an account is."""
_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])(\d{1,2}):?(\d{2})?")
_SEASONS = (datetime(2025, 1, 15, tzinfo=UTC), datetime(2025, 7, 15, tzinfo=UTC))

Offsets = tuple[float, float]
"""Hours ahead of UTC in January and in July."""


def iana_zone(text: str) -> str | None:
    """Return the IANA zone that a name means; None for an unknown name or an offset from UTC."""
    zone = _ZONES_BY_NAME.get(text.strip(), text.strip())
    return zone if zone in _known_zones() else None


@cache
def _known_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def utc_offsets(text: str) -> Offsets | None:
    """Return the offsets of a time zone by any name, or of an offset such as `UTC-03:30`."""
    if match := _OFFSET.fullmatch(text.strip()):
        hours = int(match[2]) + int(match[3] or 0) / 60
        hours = -hours if match[1] == "-" else hours
        return hours, hours
    zone = iana_zone(text)
    if zone is None:
        return None
    ahead = [ZoneInfo(zone).utcoffset(season) or timedelta() for season in _SEASONS]
    return ahead[0] / timedelta(hours=1), ahead[1] / timedelta(hours=1)


def hours_apart(zone: Offsets, others: Sequence[Offsets]) -> float:
    """Return the hours between a zone and the nearest of others, in the season where they differ most."""
    gaps = abs((np.array(others) - zone + 12) % 24 - 12)
    return float(gaps.max(axis=1).min())
