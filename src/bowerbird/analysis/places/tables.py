"""Everyday names of places, ordinary words that are also names, and GeoNames' numbers of ISO's regions. Data only."""

from __future__ import annotations

from collections.abc import Mapping

COUNTRY_NAMES: Mapping[str, tuple[str, ...]] = {
    "US": (
        "usa",
        "us",
        "u s a",
        "u s",
        "america",
        "united states of america",
        "the states",
        "estados unidos de america",
        "eeuu",
        "eua",
        "amerika",
        "ee uu",
        "etats unis",
        "stati uniti",
        "murica",
        "merica",
        "united states us",
        "midwest",
        "pacific northwest",
        "pnw",
        "new england",
        "deep south",
        "midwest usa",
        "us of a",
        "gulf coast",
        "east coast usa",
        "west coast usa",
        "land of the free",
        "美国",
        "米国",
        "アメリカ",
    ),
    "GB": (
        "uk",
        "u k",
        "great britain",
        "britain",
        "reino unido",
        "gb",
        "inglaterra",
        "angleterre",
        "england uk",
        "英国",
        "イギリス",
    ),
    "DE": ("deutschland", "brd"),
    "ES": ("espana", "espanya", "euskadi"),
    "BR": ("brasil",),
    "KR": ("korea", "south korea", "republic of korea", "corea del sur", "韩国"),
    "KP": ("north korea",),
    "RU": ("russia", "россия", "рф"),
    "IR": ("iran",),
    "SY": ("syria",),
    "VE": ("venezuela",),
    "TZ": ("tanzania",),
    "VN": ("vietnam", "viet nam"),
    "LA": ("laos",),
    "MD": ("moldova",),
    "CZ": ("czech republic", "czechia"),
    "CI": ("ivory coast", "cote divoire"),
    "TR": ("turkey", "turkiye"),
    "NL": ("holland", "the netherlands", "netherlands", "nederland", "paises bajos"),
    "AE": ("uae", "u a e", "emirates"),
    "SA": ("ksa", "saudi"),
    "CD": ("drc", "dr congo", "congo kinshasa"),
    "CG": ("congo brazzaville",),
    "PS": ("palestine", "gaza strip"),
    "TW": ("taiwan",),
    "BO": ("bolivia",),
    "BA": ("bosnia", "herzegovina"),
    "MK": ("macedonia", "north macedonia"),
    "DO": ("republica dominicana", "dominican republic"),
    "CN": ("china", "prc", "中国"),
    "HK": ("hong kong", "hong kong sar"),
    "MX": ("mexico",),
    "JP": ("japan", "日本", "nippon"),
    "ZA": ("rsa", "mzansi"),
    "NZ": ("aotearoa", "nz"),
    "IE": ("eire", "republic of ireland", "ireland"),
    "CH": ("schweiz", "suisse", "svizzera"),
    "AT": ("osterreich",),
    "NG": ("naija", "9ja"),
    "PH": ("pilipinas", "philippines"),
    "IN": ("bharat", "india", "hindustan"),
}
COUNTRY_CODES: Mapping[str, tuple[str, ...]] = {"GB": ("UK",), "AE": ("UAE",), "SA": ("KSA",), "NZ": ("NZ",)}

_COUNTRY_LANGUAGES = """
ar be bg bn bs ca cs cy da de el es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko lt lv mk ml mn mr
ms my nb ne nl nn pa pl pt pt_BR ro ru si sk sl sq sr sv ta te th tl tr uk ur uz vi zh_CN zh_HK zh_TW
"""
COUNTRY_LANGUAGES = tuple(_COUNTRY_LANGUAGES.split())
"""Languages in which users write the names of countries."""
REGION_LANGUAGES = ("de", "es", "fr", "it", "ja", "ko", "pl", "pt", "ru", "zh_CN", "zh_TW")
COUNTRIES_WITH_SAME_CODES = frozenset({"US", "CH", "BE"})
"""Countries whose regions carry the same letters in both sources."""
REGION_CODES = frozenset({"US", "CA", "AU", "BR", "IT"})
"""Where people write regions by their letters (`Austin, TX`)."""
REGION_NUMBERS: Mapping[str, Mapping[str, str]] = {
    "CA": {
        "AB": "01",
        "BC": "02",
        "MB": "03",
        "NB": "04",
        "NL": "05",
        "NS": "07",
        "ON": "08",
        "PE": "09",
        "QC": "10",
        "SK": "11",
        "YT": "12",
        "NT": "13",
        "NU": "14",
    },
    "AU": {"ACT": "01", "NSW": "02", "NT": "03", "QLD": "04", "SA": "05", "TAS": "06", "VIC": "07", "WA": "08"},
    "GB": {"ENG": "ENG", "SCT": "SCT", "WLS": "WLS", "NIR": "NIR"},
    "DE": {
        "BW": "01",
        "BY": "02",
        "HB": "03",
        "HH": "04",
        "HE": "05",
        "NI": "06",
        "NW": "07",
        "RP": "08",
        "SL": "09",
        "SH": "10",
        "BB": "11",
        "MV": "12",
        "SN": "13",
        "ST": "14",
        "TH": "15",
        "BE": "16",
    },
}
REGION_NAMES: Mapping[str, tuple[str, ...]] = {
    "US-DC": ("dc", "d c", "washington dc", "washington d c", "dmv", "dc metro", "the dmv"),
    "US-CA": (
        "cali",
        "calif",
        "socal",
        "norcal",
        "southern california",
        "northern california",
        "so cal",
        "nor cal",
        "san joaquin valley",
        "san fernando valley",
        "santa cruz mountains",
        "inland empire",
    ),
    "US-NY": ("new york state", "upstate new york", "upstate ny", "western new york"),
    "US-WA": ("washington state",),
    "US-TX": ("tx", "texas usa"),
    "US-FL": ("fla", "south florida", "swfl", "central florida"),
    "US-MA": ("mass",),
    "US-PA": ("penna", "penn"),
    "US-MI": ("mich",),
    "US-MN": ("minn",),
    "US-TN": ("tenn",),
    "US-CT": ("conn",),
    "US-AZ": ("ariz",),
    "US-WI": ("wis", "wisc"),
    "US-NJ": ("jersey", "south jersey", "n j"),
    "US-PR": ("puerto rico",),
    "GB-ENG": ("england", "yorkshire", "east midlands", "west midlands"),
    "GB-SCT": ("scotland",),
    "GB-WLS": ("wales", "cymru"),
    "GB-NIR": ("northern ireland",),
    "CA-ON": ("ont",),
    "CA-QC": ("quebec",),
    "CA-BC": ("b c",),
    "ES-CT": ("catalonia", "catalunya", "cataluna"),
    "ES-AN": ("andalucia",),
    "DE-BY": ("bavaria", "bayern"),
    "IN-UP": ("up india",),
    "IT-82": ("sicily", "sicilia"),
    "US-IL": ("land of lincoln",),
}
CITY_NAMES: Mapping[str, str] = {
    "nyc": "new york city",
    "new york": "new york city",
    "philly": "philadelphia",
    "la": "los angeles",
    "l a": "los angeles",
    "sf": "san francisco",
    "san fran": "san francisco",
    "sf bay area": "san francisco",
    "bay area": "san francisco",
    "silicon valley": "san jose",
    "hollywood": "los angeles",
    "vegas": "las vegas",
    "chi town": "chicago",
    "chitown": "chicago",
    "chicagoland": "chicago",
    "atl": "atlanta",
    "nola": "new orleans",
    "big apple": "new york city",
    "dfw": "dallas",
    "htx": "houston",
    "atx": "austin",
    "pdx": "portland",
    "indy": "indianapolis",
    "cincy": "cincinnati",
    "nova": "arlington",
    "twin cities": "minneapolis",
    "cdmx": "mexico city",
    "ciudad de mexico": "mexico city",
    "df": "mexico city",
    "mexico df": "mexico city",
    "sampa": "sao paulo",
    "sp": "sao paulo",
    "rio": "rio de janeiro",
    "bsas": "buenos aires",
    "caba": "buenos aires",
    "ldn": "london",
    "brum": "birmingham",
    "jozi": "johannesburg",
    "joburg": "johannesburg",
    "blr": "bengaluru",
    "ncr": "new delhi",
    "delhi ncr": "new delhi",
    "kc": "kansas city",
    "slc": "salt lake city",
    "stl": "st louis",
    "bklyn": "brooklyn",
    "westchester": "white plains",
    "silicon beach": "los angeles",
    "sin city": "las vegas",
    "bh": "belo horizonte",
    "valley of the sun": "phoenix",
    "music city": "nashville",
    "motor city": "detroit",
    "windy city": "chicago",
    "charm city": "baltimore",
    "salt lake": "salt lake city",
    "jville": "jacksonville",
}
"""Everyday names of cities, by the name they are in the index with; only where they mean one city."""

_WORDS = """
a about above abroad absent aca ahead aki ali all almost alone along alpha always amen amigo and angel any anywhere aqui ar army
around art asgard ask asleep at atlantis aurora away axis baby back bad band bar base bath battle beach bed behind best beyond
big blue body boat book bot both boy bronze business but by caring casa castle cave center central centro chair chaos cielo city
class clay closet cloud club coast college com comedy concord corner couch country cross crystal dark date day deal death delta
desert desk despair destiny diamond dio district doing dome don door down downtown dream dreams drum dusk dust targets east eden
edge elsewhere emerald empire end energy enterprise equality eternity europe ever everyone everything everywhere evil evolution
existence faith family fandom fantasy far farm field fire first five flat flower fly food football for forest forever forward
free freedom fun future galaxy game garden gate ghost girl global globe go god gold golden good gotham grace grand gray green
ground group guess happy harmony hay hate he heart heat heaven hell help her here hidden hide high hill his history hit hogwarts
hold hole holy home honor hope hospital house hub human i ice if imagination in independence infinity info inside internet into
is island isle it jungle just justice key kind king kingdom la lab lake land last law left let liberty life light limbo line
lion little live local lost love low luck luna lugar madness magic male man many map mar march mars matrix maybe me media melody
merry middle midnight milky mind mine mobile modern moon more most mother mountain mountains mundo music my mystic name nap
narnia nation national nature near never neverland new news nice night nirvana no nobody normal north northeast northwest not
nova now nowhere null oasis ocean of off office old olympus on one online only open or orange order other our out outer outside
over page panem paper paradise park party past pause peace people place planet planeta planete play plenty plus point pole pool
power prairie pride prime prison private public pure quality queen quiet radio rain rainbow random reading real reality red
refuge remote rest right river road rock room rose royal same sand sandwich school science sea secret self shadow she shire show
side silence silver sin sky sleep snow social solitude some somewhere son song sorrow soul sound south southeast southwest space
spirit split sport spring square star stars state states station still stone stop street studio student success summer sun sunny
sunshine sur surprise surreal sweet system tal tatooine team terra the there they third this tierra time tir to today tomorrow
top tower town train trees trance tribe true trust truth twilight under union united unity universal universe university unknown
up upper utopia valhalla vale valley various venus via victory view village virtual vision void wakanda walls war warm wasteland
water way we web welcome west westeros wherever white why wild wilderness winter wisdom with within woke wonderland woods work
world worldwide yes you young your zen zero zion zone africa asia antarctica oceania latinoamerica latam eu mi tu su el los las
un una que mas con por para todo nada der die das und ein kpop bts exo centre eastern western northern southern gulf capital
federal interior littoral highlands plateau stan twitter facebook instagram tumblr youtube tiktok wifi google us him them hers
its mom dad hi hey lol idk tbd tba nah yep be am so do can arm per et irl na tv cv ig lakes commonwealth kurdistan carolina bama
springs roses barn sale van rim urbs norte
"""
_PHRASES = """
white house, west coast, east coast, north shore, south shore, great lakes, park place, city of angels, on top of the world,
sweet home, pacific rim, eastern market, free state, the range,
north east, north west, south east, south west
"""
ORDINARY_WORDS = frozenset((*_WORDS.split(), *(" ".join(each.split()) for each in _PHRASES.split(","))))
"""Words that are names of places too, and are seldom meant as such."""
_WORD_CODES = """
AM AND ARM AS AT BE CAN COL CV DO ET GO HE HI IN IRL IS IT MAN ME MY NA NO OR PER SO TO TV
"""
WORD_CODES = frozenset(_WORD_CODES.split())
"""Codes of countries and regions that are English words or other abbreviations, so that they are doubtful also in capitals."""
